#include "analysis/host/host_words.h"

#include <stdio.h>
#include <string.h>

const char *const host_kind_advice[HOST_KIND_COUNT] = {
#define KIND(constant, advice) advice,
    HOST_KINDS(KIND)
#undef KIND
};

#define GARBAGE_WORDS "garbage collection"
#define GIL_WORDS "waiting for Python's interpreter lock (GIL)"
#define MEMORY_WORDS "memory allocation"

/* Ranks: 1 what others are made of, 2 and 3 functions of libraries, 4 and 5 what these are called for. */
static const struct host_pattern patterns[] = {
    {"gc_collect*", HOST_GARBAGE, 5, GARBAGE_WORDS},
    {"PyGC_Collect*", HOST_GARBAGE, 5, GARBAGE_WORDS},
    {"Py_RunGC*", HOST_GARBAGE, 5, GARBAGE_WORDS},
    {"collect_with_callback*", HOST_GARBAGE, 5, GARBAGE_WORDS},
    {"collect_generations*", HOST_GARBAGE, 5, GARBAGE_WORDS},
    {"invoke_gc_callback*", HOST_GARBAGE, 5, GARBAGE_WORDS},
    {"deduce_unreachable*", HOST_GARBAGE, 5, GARBAGE_WORDS},
    {"take_gil*", HOST_GIL, 4, GIL_WORDS},
    {"PyEval_RestoreThread*", HOST_GIL, 4, GIL_WORDS},
    {"PyEval_AcquireThread*", HOST_GIL, 4, GIL_WORDS},
    {"PyThreadState_Attach*", HOST_GIL, 4, GIL_WORDS},
    {"nvrtcCompileProgram", HOST_COMPILE, 4, "compilation by NVRTC"},
    {"nvPTXCompilerCompile*", HOST_COMPILE, 4, "compilation of PTX"},
    {"nvJitLink*", HOST_COMPILE, 4, "linking of GPU code"},
    {"llvm::*", HOST_COMPILE, 4, "compilation by LLVM"},
    {"find_and_load*", HOST_IMPORT, 4, "import of Python modules"},
    {"dl_open*", HOST_IMPORT, 4, "loading of a library"},
    {"dlopen*", HOST_IMPORT, 4, "loading of a library"},
    {"sleep", HOST_SLEEP, 3, "sleep"},
    {"usleep", HOST_SLEEP, 3, "sleep"},
    {"nanosleep", HOST_SLEEP, 3, "sleep"},
    {"clock_nanosleep", HOST_SLEEP, 3, "sleep"},
    {"thrd_sleep", HOST_SLEEP, 3, "sleep"},
    {"std::this_thread::sleep*", HOST_SLEEP, 3, "sleep"},
    {"pthread_mutex_lock", HOST_LOCK, 3, NULL},
    {"pthread_mutex_timedlock", HOST_LOCK, 3, NULL},
    {"pthread_mutex_clocklock", HOST_LOCK, 3, NULL},
    {"pthread_rwlock_*rdlock", HOST_LOCK, 3, NULL},
    {"pthread_rwlock_*wrlock", HOST_LOCK, 3, NULL},
    {"mtx_lock", HOST_LOCK, 3, NULL},
    {"pthread_cond_*wait", HOST_WAIT, 3, NULL},
    {"cnd_wait", HOST_WAIT, 3, NULL},
    {"sem_wait*", HOST_WAIT, 3, "sem_wait()"},
    {"sem_timedwait*", HOST_WAIT, 3, "sem_timedwait()"},
    {"sem_clockwait*", HOST_WAIT, 3, "sem_clockwait()"},
    {"pthread_join*", HOST_WAIT, 3, "pthread_join()"},
    {"pthread_timedjoin*", HOST_WAIT, 3, "pthread_join()"},
    {"pthread_clockjoin*", HOST_WAIT, 3, "pthread_join()"},
    {"pthread_barrier_wait", HOST_WAIT, 3, NULL},
    {"GOMP_barrier*", HOST_WAIT, 4, "waiting for OpenMP threads"},
    {"gomp_*barrier_wait*", HOST_WAIT, 4, "waiting for OpenMP threads"},
    {"wait", HOST_WAIT, 3, NULL},
    {"wait3", HOST_WAIT, 3, NULL},
    {"wait4", HOST_WAIT, 3, NULL},
    {"waitid", HOST_WAIT, 3, NULL},
    {"waitpid", HOST_WAIT, 3, NULL},
    {"poll", HOST_WAIT, 3, NULL},
    {"ppoll", HOST_WAIT, 3, NULL},
    {"epoll_wait", HOST_WAIT, 3, NULL},
    {"epoll_pwait*", HOST_WAIT, 3, "epoll_wait()"},
    {"select", HOST_WAIT, 3, NULL},
    {"pselect", HOST_WAIT, 3, NULL},
    {"sigwait*", HOST_WAIT, 3, NULL},
    {"accept*", HOST_WAIT, 3, NULL},
    {"recv*", HOST_WAIT, 3, NULL},
    {"mq_receive*", HOST_WAIT, 3, NULL},
    {"msgrcv", HOST_WAIT, 3, NULL},
    {"sched_yield", HOST_WAIT, 2, NULL},
    {"lll_lock_wait*", HOST_LOCK, 2, "futex()"},
    {"futex_wait*", HOST_WAIT, 1, "futex()"},
    {"futex_abstimed_wait*", HOST_WAIT, 1, "futex()"},
    {"futex_lock*", HOST_LOCK, 1, "futex()"},
    {"syscall", HOST_WAIT, 1, NULL},
    {"read", HOST_IO, 3, NULL},
    {"readv", HOST_IO, 3, NULL},
    {"pread*", HOST_IO, 3, NULL},
    {"fread*", HOST_IO, 2, "fread()"},
    {"io_getevents", HOST_IO, 3, NULL},
    {"io_uring_enter", HOST_IO, 3, NULL},
    {"aio_suspend", HOST_IO, 3, NULL},
    {"getdents", HOST_IO, 3, NULL},
    {"write", HOST_IO, 3, NULL},
    {"writev", HOST_IO, 3, NULL},
    {"pwrite*", HOST_IO, 3, NULL},
    {"fsync", HOST_IO, 3, NULL},
    {"fdatasync", HOST_IO, 3, NULL},
    {"msync", HOST_IO, 3, NULL},
    {"sendto", HOST_IO, 3, NULL},
    {"sendmsg", HOST_IO, 3, NULL},
    {"send", HOST_IO, 3, NULL},
    {"open", HOST_IO, 3, NULL},
    {"openat", HOST_IO, 3, NULL},
    {"fstatat", HOST_IO, 3, NULL},
    {"stat", HOST_IO, 3, NULL},
    {"ioctl", HOST_IO, 2, NULL},
    {"malloc*", HOST_MEMORY, 2, MEMORY_WORDS},
    {"int_malloc*", HOST_MEMORY, 2, MEMORY_WORDS},
    {"int_free*", HOST_MEMORY, 2, MEMORY_WORDS},
    {"sysmalloc*", HOST_MEMORY, 2, MEMORY_WORDS},
    {"systrim*", HOST_MEMORY, 2, MEMORY_WORDS},
    {"calloc", HOST_MEMORY, 2, MEMORY_WORDS},
    {"realloc", HOST_MEMORY, 2, MEMORY_WORDS},
    {"free", HOST_MEMORY, 2, MEMORY_WORDS},
    {"cfree", HOST_MEMORY, 2, MEMORY_WORDS},
    {"posix_memalign", HOST_MEMORY, 2, MEMORY_WORDS},
    {"aligned_alloc", HOST_MEMORY, 2, MEMORY_WORDS},
    {"mmap", HOST_MEMORY, 2, NULL},
    {"munmap", HOST_MEMORY, 2, NULL},
    {"mremap", HOST_MEMORY, 2, NULL},
    {"madvise", HOST_MEMORY, 2, NULL},
    {"brk", HOST_MEMORY, 2, MEMORY_WORDS},
    {"asm_exc_page_fault", HOST_MEMORY, 2, "page faults"},
    {"clear_page*", HOST_MEMORY, 2, "page faults"},
    {"memcpy", HOST_RUN, 1, "memcpy()"},
    {"memmove", HOST_RUN, 1, "memcpy()"},
    {"memset", HOST_RUN, 1, NULL},
};

static bool skip(const char **text, const char *start)
{
    size_t length = strlen(start);
    if (strncmp(*text, start, length) != 0)
        return false;
    *text += length;
    return true;
}

const char *host_function_name(const char *function, char text[HOST_FUNCTION])
{
    static const char *const ends[] = {"_avx",      "_sse",    "_ssse", "_evex", "_erms",
                                       "_nocancel", "_time64", ".",     "(",     "@"};
    while (skip(&function, "_") || skip(&function, "GI_") || skip(&function, "libc_") || skip(&function, "new_"))
        ;
    snprintf(text, HOST_FUNCTION, "%s", function);
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        char *end = strstr(text, ends[i]);
        if (end && end > text)
            *end = '\0';
    }
    size_t length = strlen(text);
    if (length > 2 && strcmp(text + length - 2, "64") == 0)
        text[length - 2] = '\0';
    return text;
}

/* One '*' in PATTERN stands for anything. */
static bool matches(const char *pattern, const char *name)
{
    const char *star = strchr(pattern, '*');
    if (!star)
        return strcmp(pattern, name) == 0;
    size_t before = (size_t)(star - pattern), after = strlen(star + 1), length = strlen(name);
    return length >= before + after && strncmp(pattern, name, before) == 0 &&
           strcmp(star + 1, name + length - after) == 0;
}

const struct host_pattern *host_pattern_find(const char *function)
{
    char name[HOST_FUNCTION];
    host_function_name(function, name);
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
        if (matches(patterns[i].function, name))
            return &patterns[i];
    return NULL;
}

/* --- files --- */

bool host_module_is_system(const char *module)
{
    static const char *const starts[] = {
        "libc.",    "libc-",    "libpthread", "libm.",    "libdl.", "librt.",    "ld-linux", "ld-2", "libstdc++",
        "libgcc_s", "libcuda.", "libcudart",  "libcupti", "libnv",  "libpython", "python3",  "[",    "libgputrace",
    };
    const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return strcmp(name, "python") == 0;
}
