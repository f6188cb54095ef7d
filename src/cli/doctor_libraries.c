/* Forks a child for each library, which loads it, calls its functions, and writes the answer to shared memory. */
#include "cli/doctor_libraries.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/memory.h"

/* Memory that both processes share. The child sets `whole` when the answer is complete. */
struct shared {
    volatile bool whole;
    alignas(max_align_t) char answer[];
};

static _Noreturn void be_child(void (*ask)(const void *, void *), const void *question, struct shared *shared)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
    signal(SIGALRM, SIG_DFL);
    alarm(PROBE_SECONDS);
    ask(question, shared->answer);
    shared->whole = true;
    _exit(0); /* without the exit handlers of loaded libraries */
}

static enum probe_end follow(pid_t child, const struct shared *shared)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (shared->whole)
        return PROBE_ANSWERED;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? PROBE_TOO_SLOW : PROBE_CRASHED;
}

enum probe_end probe(void (*ask)(const void *, void *), const void *question, void *answer, size_t size)
{
    size_t bytes = sizeof(struct shared) + size;
    memset(answer, 0, size);
    struct shared *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return PROBE_NOT_ASKED;
    pid_t child = fork();
    if (child == 0)
        be_child(ask, question, shared);
    enum probe_end end = child < 0 ? PROBE_NOT_ASKED : follow(child, shared);
    memcpy(answer, shared->answer, size); /* after a crash: the part that was written before */
    munmap(shared, bytes);
    return end;
}

static void *load_library(const char *path, char *words, size_t size)
{
    char where[PATH_MAX];
    bool open = strchr(path, '/') && world_writable(path, where);
    void *handle = open ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (open)
        snprintf(words, size, "it is not loaded, because everybody can write to '%.180s'", where);
    else if (!handle)
        snprintf(words, size, "%s", dlerror());
    return handle;
}

/* Stores function NAME of HANDLE in VARIABLE by memcpy(), because C has no conversion from the void * of dlsym(). */
#define LOOK_UP(handle, variable, name)                 \
    do {                                                \
        void *symbol = dlsym((handle), (name));         \
        memcpy(&(variable), &symbol, sizeof(variable)); \
    } while (0)

static void question_driver(const void *question, void *out)
{
    struct driver_answer *answer = out;
    unsetenv("CUDA_INJECTION64_PATH"); /* the driver must not load another tool's library */
    void *handle = load_library(question, answer->words, sizeof(answer->words));
    if (!handle)
        return;
    int (*init)(unsigned flags), (*get_version)(int *), (*get_count)(int *), (*get_device)(int *, int);
    int (*get_name)(char *, int, int), (*get_words)(int, const char **);
    LOOK_UP(handle, init, "cuInit");
    LOOK_UP(handle, get_version, "cuDriverGetVersion");
    LOOK_UP(handle, get_count, "cuDeviceGetCount");
    LOOK_UP(handle, get_device, "cuDeviceGet");
    LOOK_UP(handle, get_name, "cuDeviceGetName");
    LOOK_UP(handle, get_words, "cuGetErrorString");
    answer->loaded = init && get_version && get_count && get_device && get_name;
    if (!answer->loaded) {
        snprintf(answer->words, sizeof(answer->words), "it lacks functions of CUDA's driver");
        return;
    }
    get_version(&answer->version);
    answer->result = init(0);
    const char *words = NULL;
    if (answer->result != 0 && get_words && get_words(answer->result, &words) == 0 && words)
        snprintf(answer->words, sizeof(answer->words), "%s", words);
    int device;
    if (answer->result == 0 && get_count(&answer->devices) == 0 && answer->devices > 0 && get_device(&device, 0) == 0)
        get_name(answer->device, (int)sizeof(answer->device), device);
}

void ask_driver(struct driver_answer *answer)
{
    answer->end = probe(question_driver, "libcuda.so.1", answer, sizeof(*answer));
}

/* The callback for cuptiSubscribe(). It is never called, because no callback is enabled. */
static void on_callback(void *context, int domain, uint32_t cbid, const void *data)
{
    (void)context, (void)domain, (void)cbid, (void)data;
}

static void question_cupti(const void *question, void *out)
{
    struct cupti_answer *answer = out;
    void *handle = load_library(question, answer->words, sizeof(answer->words));
    if (!handle)
        return;
    struct link_map *map = NULL;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    snprintf(answer->path, sizeof(answer->path), "%s", map ? map->l_name : (const char *)question);
    int (*get_version)(uint32_t *), (*unsubscribe)(void *), (*get_words)(int, const char **);
    int (*subscribe)(void **, void (*)(void *, int, uint32_t, const void *), void *);
    LOOK_UP(handle, get_version, "cuptiGetVersion");
    LOOK_UP(handle, subscribe, "cuptiSubscribe");
    LOOK_UP(handle, unsubscribe, "cuptiUnsubscribe");
    LOOK_UP(handle, get_words, "cuptiGetResultString");
    answer->loaded = get_version && subscribe && unsubscribe && get_words;
    if (!answer->loaded) {
        snprintf(answer->words, sizeof(answer->words), "it lacks functions of CUPTI");
        return;
    }
    get_version(&answer->version);
    void *subscriber = NULL;
    answer->result = subscribe(&subscriber, on_callback, NULL);
    const char *words = NULL;
    if (answer->result == 0)
        unsubscribe(subscriber);
    else if (get_words(answer->result, &words) == 0 && words)
        snprintf(answer->words, sizeof(answer->words), "%s", words);
}

void ask_cupti(const char *path, struct cupti_answer *answer)
{
    answer->end = probe(question_cupti, path, answer, sizeof(*answer));
}

static void question_library(const void *question, void *out)
{
    struct library_answer *answer = out;
    void *handle = load_library(question, answer->words, sizeof(answer->words));
    answer->loaded = handle != NULL;
    answer->cuda = handle && dlsym(handle, "InitializeInjection");
    answer->nvtx = handle && dlsym(handle, "InitializeInjectionNvtx2");
}

void ask_library(const char *path, struct library_answer *answer)
{
    answer->end = probe(question_library, path, answer, sizeof(*answer));
}

bool doctor_lacks_cuda(char *words, size_t size)
{
    enum { NO_DEVICE = 100 }; /* CUDA_ERROR_NO_DEVICE */
    struct driver_answer driver;
    ask_driver(&driver);
    if (driver.end == PROBE_NOT_ASKED)
        return false;
    if (driver.end != PROBE_ANSWERED)
        snprintf(words, size, "the CUDA driver %s when it is initialised",
                 driver.end == PROBE_CRASHED ? "crashes" : "hangs");
    else if (!driver.loaded)
        snprintf(words, size, "CUDA found no driver");
    else if (driver.result == NO_DEVICE || (driver.result == 0 && driver.devices == 0))
        snprintf(words, size, "CUDA found no GPU");
    else
        snprintf(words, size, "the CUDA driver cannot be initialised (%d: %s)", driver.result, driver.words);
    return driver.end != PROBE_ANSWERED || driver.result != 0 || driver.devices == 0;
}
