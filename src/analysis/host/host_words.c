/*
 * The table of functions, and the comparison of names without what libraries add to them.
 */
#include "analysis/host/host_words.h"

#include <stdio.h>
#include <string.h>

const char *const host_kind_advice[HOST_KIND_COUNT] = {
#define KIND(constant, advice) advice,
    HOST_KINDS(KIND)
#undef KIND
};

/* Ranks: 1 for building blocks of others, 2 and 3 for functions of libraries, 4 and 5 for what these are called for. */
static const struct host_pattern patterns[] = {
    {HOST_GARBAGE, 5, "garbage collection",
     "gc_collect* PyGC_Collect* Py_RunGC* collect_with_callback* collect_generations* invoke_gc_callback* "
     "deduce_unreachable*"},
    {HOST_GIL, 4, "waiting for Python's interpreter lock (GIL)",
     "take_gil* PyEval_RestoreThread* PyEval_AcquireThread* PyThreadState_Attach*"},
    {HOST_COMPILE, 4, "compilation by NVRTC", "nvrtcCompileProgram"},
    {HOST_COMPILE, 4, "compilation of PTX", "nvPTXCompilerCompile*"},
    {HOST_COMPILE, 4, "linking of GPU code", "nvJitLink*"},
    {HOST_COMPILE, 4, "compilation by LLVM", "llvm::*"},
    {HOST_IMPORT, 4, "import of Python modules", "find_and_load*"},
    {HOST_IMPORT, 4, "loading of a library", "dl_open* dlopen*"},
    {HOST_SLEEP, 3, "sleep", "sleep usleep nanosleep clock_nanosleep thrd_sleep std::this_thread::sleep*"},
    {HOST_LOCK, 3, NULL,
     "pthread_mutex_lock pthread_mutex_timedlock pthread_mutex_clocklock pthread_rwlock_*rdlock pthread_rwlock_*wrlock "
     "mtx_lock"},
    {HOST_WAIT, 4, "waiting for OpenMP threads", "GOMP_barrier* gomp_barrier_wait* gomp_team_barrier_wait*"},
    {HOST_WAIT, 3, NULL,
     "pthread_cond_*wait cnd_wait pthread_barrier_wait wait wait3 wait4 waitid waitpid poll ppoll epoll_wait select "
     "pselect sigwait* accept* recv* mq_receive* msgrcv"},
    {HOST_WAIT, 3, "sem_wait()", "sem_wait*"},
    {HOST_WAIT, 3, "sem_timedwait()", "sem_timedwait*"},
    {HOST_WAIT, 3, "sem_clockwait()", "sem_clockwait*"},
    {HOST_WAIT, 3, "pthread_join()", "pthread_join* pthread_timedjoin* pthread_clockjoin*"},
    {HOST_WAIT, 3, "epoll_wait()", "epoll_pwait*"},
    {HOST_WAIT, 2, NULL, "sched_yield"},
    {HOST_LOCK, 2, "futex()", "lll_lock_wait*"},
    {HOST_LOCK, 1, "futex()", "futex_lock*"},
    {HOST_WAIT, 1, "futex()", "futex_wait* futex_abstimed_wait*"},
    {HOST_WAIT, 1, NULL, "syscall"},
    {HOST_IO, 3, NULL,
     "read readv pread* io_getevents io_uring_enter aio_suspend getdents write writev pwrite* fsync fdatasync msync "
     "sendto sendmsg send open openat fstatat stat"},
    {HOST_IO, 2, "fread()", "fread*"},
    {HOST_IO, 2, NULL, "ioctl"},
    {HOST_MEMORY, 2, "memory allocation",
     "malloc* int_malloc* int_free* sysmalloc* systrim* calloc realloc free cfree posix_memalign aligned_alloc brk"},
    {HOST_MEMORY, 2, NULL, "mmap munmap mremap madvise"},
    {HOST_MEMORY, 2, "page faults", "asm_exc_page_fault clear_page*"},
    {HOST_RUN, 1, "memcpy()", "memcpy memmove"},
    {HOST_RUN, 1, NULL, "memset"},
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

/* Whether NAME matches the LENGTH bytes of PATTERN, in which one '*' stands for any characters. */
static bool matches(const char *pattern, size_t length, const char *name)
{
    const char *star = memchr(pattern, '*', length);
    size_t before = star ? (size_t)(star - pattern) : length, after = star ? length - before - 1 : 0;
    size_t size = strlen(name);
    return size >= before + after && (star || size == length) && memcmp(pattern, name, before) == 0 &&
           memcmp(pattern + length - after, name + size - after, after) == 0;
}

const struct host_pattern *host_pattern_find(const char *function)
{
    char name[HOST_FUNCTION];
    host_function_name(function, name);
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
        for (const char *at = patterns[i].functions; *at; at += strspn(at, " ")) {
            size_t length = strcspn(at, " ");
            if (matches(at, length, name))
                return &patterns[i];
            at += length;
        }
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
