/*
 * libgputrace-torch.so, which `gputrace run --trace=torch` preloads: loads libgputrace.so into a Python process once
 * the process has loaded PyTorch. Otherwise only CUDA or NVTX would load it, and a process may use neither.
 *
 * The library is in all programs that the traced one starts, shells too, so it needs only the C library and does
 * nothing before PyTorch is loaded. In a Python process it adds a hook for audit events (PEP 578): when a module is
 * about to be imported, it asks the loader whether an earlier import has loaded PyTorch's library. Then the library's
 * constructors have run, but none of its operators. In a C++ program that is linked with PyTorch, its library is there
 * from the start.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PYTORCH "libtorch_cpu.so"

typedef int audit_hook(const char *event, void *arguments, void *data);

static struct {
    unsigned long long libraries; /* counter of loaded libraries at the last search */
    bool done;
} seen;

/* Called for each loaded library. Returns 1 if no library is new, 2 if this is PyTorch's, else 0. */
static int compare_library(struct dl_phdr_info *info, size_t size, void *first)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    if (*(bool *)first && info->dlpi_adds == seen.libraries)
        return 1;
    *(bool *)first = false;
    seen.libraries = info->dlpi_adds;
    return strncmp(slash ? slash + 1 : info->dlpi_name, PYTORCH, strlen(PYTORCH)) == 0 ? 2 : 0; /* or ….so.1.13 */
}

/* Loads libgputrace.so, and starts it by calling one of its functions. */
static void start(void)
{
    const char *path = getenv("GPUTRACE_LIBRARY");
    void *library = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    int (*begin)(void) = NULL;
    if (library)
        *(void **)&begin = dlsym(library, "gputrace_active");
    if (begin)
        begin();
}

/* Starts recording when PyTorch has been loaded. Python's lock is held. */
static int on_audit_event(const char *event, void *arguments, void *data)
{
    bool first = true;
    (void)arguments, (void)data;
    if (seen.done || strcmp(event, "import") != 0 || dl_iterate_phdr(compare_library, &first) != 2)
        return 0;
    seen.done = true;
    start();
    return 0;
}

__attribute__((constructor)) static void watch(void)
{
    int (*add)(audit_hook *hook, void *data);
    bool first = true;
    *(void **)&add = dlsym(RTLD_DEFAULT, "PySys_AddAuditHook");
    if (dl_iterate_phdr(compare_library, &first) == 2)
        start(); /* a program that is linked with PyTorch, whose constructors have run by now */
    else if (add)
        add(on_audit_event, NULL);
}
