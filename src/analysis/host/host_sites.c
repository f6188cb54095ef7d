/*
 * A table has what functions of libraries do. The frames of each site are searched once, for the innermost frame of the
 * program, and for the function with the highest rank that this frame called.
 */
#include "analysis/host/host_sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/engine/trace.h"
#include "analysis/engine/trace_stacks.h"
#include "trace/frames.h"

const char *const host_kind_advice[HOST_KIND_COUNT] = {
#define KIND(constant, advice) advice,
    HOST_KINDS(KIND)
#undef KIND
};

/* Ranks: 1 for building blocks of other functions, 2 and 3 for functions of libraries, 4 and 5 for the purposes of
 * these calls. */
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

struct host_frame_facts {
    const struct host_pattern *pattern; /* NULL: none */
    uint32_t name;                      /* of the function that matches the pattern, in trace.strings */
    bool of_program;                    /* it seems to be the user's own code */
    bool of_python;                     /* a line of Python */
    bool is_system;
};

/* The frames of a stack. */
struct site_stack {
    const struct trace_frame *frames[TRACE_STACK_FRAMES];
    size_t count;
};

/* Returns the index of the innermost frame of the program: its own code, else a line of Python, else a named function
 * of a library. Returns the stack's count if there is none. */
static size_t find_program(const struct host_sites *sites, const struct trace *trace, const struct site_stack *stack)
{
    size_t python = stack->count, named = stack->count;
    for (size_t i = 0; i < stack->count; i++) {
        uint32_t number = (uint32_t)(stack->frames[i] - trace->frames.items);
        const struct host_frame_facts *facts = &sites->frames[number];
        bool has_name = trace->frames.items[number].function != EVENT_NO_TEXT;
        if (facts->of_program)
            return i;
        if (facts->of_python && python == stack->count)
            python = i;
        if (has_name && !facts->is_system && !facts->pattern && named == stack->count)
            named = i;
    }
    return python < stack->count ? python : named;
}

static uint32_t intern_words(struct host_sites *sites, const char *words, const char *after)
{
    char text[HOST_FUNCTION + 8];
    snprintf(text, sizeof(text), "%s%s", words, after);
    return intern(&sites->words, text, strlen(text));
}

/* Returns the words for a PATTERN that FUNCTION matched, as a number of sites->words. */
static uint32_t words_of(struct host_sites *sites, const struct host_pattern *pattern, const char *function)
{
    char name[HOST_FUNCTION];
    return pattern->words ? intern_words(sites, pattern->words, "")
                          : intern_words(sites, host_function_name(function, name), "()");
}

static int set_doing(struct host_sites *sites, struct host_site_doing *site, const struct host_doing *doing)
{
    site->doing = dense_map_number(&sites->doings, doing, sizeof(*doing));
    return site->doing == DENSE_MAP_NONE ? -1 : 0;
}

/* Reads a site without a stack, which may have a name. Returns 0, or -1: no memory. */
static int read_name(struct host_sites *sites, const struct trace *trace, const struct host_site *key,
                     struct host_site_doing *site)
{
    struct host_doing doing = {
        .kind = HOST_RUN, .words = EVENT_NO_TEXT, .function = EVENT_NO_TEXT, .file = EVENT_NO_TEXT};
    const char *name = trace_text(trace, (uint32_t)key->name);
    const struct host_pattern *pattern = *name ? host_pattern_find(name) : NULL;
    if (!*name || strcmp(name, "?") == 0)
        return 0;
    if (pattern) {
        doing.kind = pattern->kind;
        doing.words = words_of(sites, pattern, name);
    } else {
        doing.function = (uint32_t)key->name;
    }
    return set_doing(sites, site, &doing);
}

static int read_site(struct host_sites *sites, const struct trace *trace, const struct host_site *key,
                     struct host_site_doing *site)
{
    struct host_doing doing = {
        .kind = HOST_RUN, .words = EVENT_NO_TEXT, .function = EVENT_NO_TEXT, .file = EVENT_NO_TEXT};
    struct site_stack stack;
    stack.count = trace_stack(trace, key->stack, stack.frames, TRACE_STACK_FRAMES);
    site->doing = site->frame = EVENT_NO_TEXT;
    if (stack.count == 0)
        return read_name(sites, trace, key, site);
    size_t program = find_program(sites, trace, &stack);
    /* Find the function with the highest rank among those that the program called. */
    const struct host_frame_facts *called = NULL;
    for (size_t i = 0; i < program; i++) {
        const struct host_frame_facts *facts = &sites->frames[stack.frames[i] - trace->frames.items];
        if (facts->pattern && (!called || facts->pattern->rank > called->pattern->rank))
            called = facts;
    }
    if (called) {
        doing.kind = called->pattern->kind;
        doing.words = words_of(sites, called->pattern, trace_text(trace, called->name));
    }
    if (program < stack.count) {
        site->frame = (uint32_t)(stack.frames[program] - trace->frames.items);
        doing.function = trace->frames.items[site->frame].function;
        doing.file = trace->frames.items[site->frame].file;
    }
    if (!called && program == stack.count) {
        /* If all frames are of libraries, the library of the innermost frame is named, such as an interpreter. */
        const struct trace_frame *frame;
        const char *module = trace_stack(trace, key->stack, &frame, 1) ? trace_text(trace, frame->module) : "";
        const char *slash = strrchr(module, '/');
        if (!*module)
            return read_name(sites, trace, key, site);
        doing.words = intern_words(sites, slash ? slash + 1 : module, "");
        return set_doing(sites, site, &doing);
    }
    return set_doing(sites, site, &doing);
}

int host_sites_make(struct host_sites *sites, const struct trace *trace)
{
    const struct dense_map *keys = &trace->samples.sites;
    sites->frames = calloc(trace->frames.count + 1, sizeof(*sites->frames));
    if (!sites->frames)
        return -1;
    for (size_t i = 0; keys->count > 0 && i < trace->frames.count; i++) {
        struct host_frame_facts *facts = &sites->frames[i];
        const struct trace_frame *frame = &trace->frames.items[i];
        const char *function = trace_text(trace, frame->function), *file = trace_text(trace, frame->file);
        const char *module = trace_text(trace, frame->module);
        facts->of_python = strcmp(module, FRAME_PYTHON) == 0;
        facts->pattern = *function ? host_pattern_find(function) : NULL;
        facts->name = frame->function;
        if (facts->of_python) {
            bool imports = facts->pattern && facts->pattern->kind == HOST_IMPORT && strstr(file, "importlib");
            facts->pattern = imports ? facts->pattern : NULL;
            facts->of_program = frame->owner == FRAME_SCRIPT;
            continue;
        }
        facts->is_system = frame->owner == FRAME_CUDA || host_module_is_system(module);
        bool linked_in =
            facts->pattern && strncmp(file, "../", 3) == 0; /* a function of the C library in a static program */
        facts->of_program = *file && *function && !facts->is_system && !linked_in && frame->owner == FRAME_PROGRAM;
        if (facts->of_program) /* the program may have its own read() */
            facts->pattern = NULL;
    }
    for (size_t i = 0; i < keys->count; i++) {
        struct host_site_doing *site = array_push(&sites->sites);
        if (!site || read_site(sites, trace, dense_map_row(keys, i), site) < 0)
            return -1;
    }
    return 0;
}

void host_sites_release(struct host_sites *sites)
{
    interner_release(&sites->words);
    dense_map_release(&sites->doings);
    array_release(&sites->sites);
    free(sites->frames);
}

/* Returns the number of the doing that SITE has, but with another KIND and WORDS. Returns EVENT_NO_TEXT without
 * memory. */
static uint32_t changed_doing(struct host_sites *sites, uint32_t site, enum host_kind kind, const char *words)
{
    const uint32_t number = site < sites->sites.count ? sites->sites.items[site].doing : EVENT_NO_TEXT;
    struct host_doing doing = {.function = EVENT_NO_TEXT, .file = EVENT_NO_TEXT};
    if (number != EVENT_NO_TEXT)
        doing = *host_sites_doing(sites, number);
    doing.kind = kind;
    doing.words = intern_words(sites, words, "");
    return doing.words == INTERN_NO_MEMORY ? EVENT_NO_TEXT : dense_map_number(&sites->doings, &doing, sizeof(doing));
}

uint32_t host_sites_of_state(struct host_sites *sites, const struct host_state *state)
{
    uint32_t doing = state->site == EVENT_NO_TEXT ? EVENT_NO_TEXT : sites->sites.items[state->site].doing;
    if (state->kind == HOST_RUNNABLE)
        return changed_doing(sites, state->site, HOST_READY, "waiting for a processor");
    if (doing != EVENT_NO_TEXT && host_sites_doing(sites, doing)->kind != HOST_RUN)
        return doing;
    return state->kind == HOST_DISK_WAIT ? changed_doing(sites, state->site, HOST_IO, "waiting for a disk")
                                         : changed_doing(sites, state->site, HOST_OFF, "off the processor");
}

void host_sites_write(struct buffer *out, const struct host_sites *sites, const struct trace *trace, uint32_t number,
                      uint32_t frame)
{
    const struct host_doing *doing = host_sites_doing(sites, number);
    bool placed = frame != EVENT_NO_TEXT || doing->function != EVENT_NO_TEXT;
    if (doing->words != EVENT_NO_TEXT)
        buffer_format(out, "%s%s", interned(&sites->words, doing->words), placed ? " in " : "");
    if (frame != EVENT_NO_TEXT)
        buffer_text(out, trace_text(trace, trace->frames.items[frame].place));
    else if (placed)
        buffer_text(out, trace_text(trace, doing->function));
}
