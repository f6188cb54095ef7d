#include "agent/torch/libtorch.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "/libtorch_cpu.so"

/* The way callbacks are kept since PyTorch 1.12: those of before were not made for threads that run already. */
#define NEEDED "_ZN2at14RecordFunctionC1EONS_13StepCallbacksE"

_Static_assert(sizeof(struct torch_callback) == 40, "as PyTorch has it");

#define SIZES "_ZN5torch8profiler4impl10inputSizesERKN2at14RecordFunctionEb"
#define TYPES "_ZN5torch8profiler4impl10inputTypesERKN2at14RecordFunctionE"
#define TYPES_SHORT_STRINGS "_ZN5torch8profiler4impl10inputTypesB5cxx11ERKN2at14RecordFunctionE"
#define DELETE "_ZdlPv"

static int find_loaded(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (!name || strncmp(name, LIBRARY, strlen(LIBRARY)) != 0 || strlen(info->dlpi_name) >= PATH_MAX)
        return 0;
    strcpy(path, info->dlpi_name);
    return 1;
}

static void resolve_inputs(struct torch_library *library, void *handle)
{
    void *types = dlsym(handle, TYPES_SHORT_STRINGS), *delete = dlsym(RTLD_DEFAULT, DELETE);
    library->short_strings = types != NULL;
    library->input_types = (__typeof__(library->input_types))(types ? types : dlsym(handle, TYPES));
    library->input_sizes = (__typeof__(library->input_sizes))dlsym(handle, SIZES);
    library->delete = (__typeof__(library->delete))(delete ? delete : dlsym(handle, DELETE));
    if (!library->input_types || !library->delete)
        library->input_sizes = NULL;
}

static const char *missing_of(struct torch_library *library, void *handle)
{
    const char *missing = dlsym(handle, NEEDED) ? NULL : NEEDED;
#define FUNCTION(function, type, symbol)                                      \
    library->function = (__typeof__(library->function))dlsym(handle, symbol); \
    if (!library->function)                                                   \
        missing = symbol;
    TORCH_FUNCTIONS(FUNCTION)
#undef FUNCTION
    return missing;
}

int torch_library_find(struct torch_library *library, char *why, unsigned size)
{
    char path[PATH_MAX];
    if (!dl_iterate_phdr(find_loaded, path))
        return 0;
    /* Waits for another thread that is loading it; it stays loaded as long as the process, with our callbacks. */
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    if (!handle)
        return 0;
    *library = (struct torch_library){0};
#ifndef __x86_64__
    snprintf(why, size, "their callbacks are known on x86-64 alone");
    return -1;
#endif
    const char *missing = missing_of(library, handle);
    if (missing)
        snprintf(why, size, "'%s' has no %s: PyTorch 1.12 or newer is needed", path, missing);
    else
        resolve_inputs(library, handle);
    return missing ? -1 : 1;
}
