/*
 * What the samples share: every CUDA call is checked, and what the program does is counted as it does it. At the end
 * the counts are printed as lines that begin with "expect": the program's own statement of what a correct trace of it
 * holds. The language of these lines is in README.md; tests/tools/check_trace compares them with a trace.
 *
 *     CALL(cudaMalloc(&data, bytes));                          one call of cudaMalloc that must succeed
 *     QUERY(cudaEventQuery(event));                            the same of a call that only asks
 *     LAUNCH(add<<<blocks, threads, 0, stream>>>(a, b, n));    one cudaLaunchKernel, one kernel named add
 *     CHECK(cudaSetDevice(0));                                 must succeed, is not part of the statement: so with the
 *                                                              first call of all, which starts CUDA and then the tracer
 *     did_copy("HtoD", bytes);                                 one copy on the GPU
 *     state_print();                                           last: the statement
 *
 * A sample is a program of one file, so everything here is static. C11 and C++17; safe to use from several threads.
 */
#ifndef SAMPLES_STATEMENT_H
#define SAMPLES_STATEMENT_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATEMENT_LINES 256
#define STATEMENT_MEMORY_KINDS 16

struct statement_line {
    char what[120]; /* "api cudaMalloc" */
    uint64_t least, most, bytes;
    bool tells_bytes;
};

struct statement_memory {
    const char *kind;
    uint64_t allocations, bytes, releases, in_use, peak;
};

static struct statement {
    pthread_mutex_t lock;
    bool silent; /* what happens now will not be in the trace */
    int lines, kinds;
    struct statement_line line[STATEMENT_LINES];
    struct statement_memory memory[STATEMENT_MEMORY_KINDS];
} statement = {PTHREAD_MUTEX_INITIALIZER, false, 0, 0, {{"", 0, 0, 0, false}}, {{NULL, 0, 0, 0, 0, 0}}};

static inline struct statement_line *statement_line(const char *what)
{
    for (int i = 0; i < statement.lines; i++)
        if (strcmp(statement.line[i].what, what) == 0)
            return &statement.line[i];
    if (statement.lines == STATEMENT_LINES) {
        fprintf(stderr, "the statement has no space for '%s'\n", what);
        exit(1);
    }
    struct statement_line *line = &statement.line[statement.lines++];
    snprintf(line->what, sizeof(line->what), "%s", what);
    return line;
}

/* WHAT will be in the trace between LEAST and MOST times more, with BYTES bytes in all when TELLS_BYTES. */
static inline void state_range(const char *what, uint64_t least, uint64_t most, bool tells_bytes, uint64_t bytes)
{
    pthread_mutex_lock(&statement.lock);
    if (!statement.silent) {
        struct statement_line *line = statement_line(what);
        line->least += least;
        line->most = most == UINT64_MAX || line->most == UINT64_MAX ? UINT64_MAX : line->most + most;
        line->tells_bytes |= tells_bytes;
        line->bytes += bytes;
    }
    pthread_mutex_unlock(&statement.lock);
}

static inline void state_count(const char *what, uint64_t count)
{
    state_range(what, count, count, false, 0);
}

/* Puts WHAT into the line's words with printf, once more. */
static inline void state(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void state(const char *format, ...)
{
    char what[sizeof(statement.line->what)];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    state_count(what, 1);
}

/* From here on nothing is stated (SILENT), or it is again: what is not recorded is not in the trace. */
static inline void state_silent(bool silent)
{
    pthread_mutex_lock(&statement.lock);
    statement.silent = silent;
    pthread_mutex_unlock(&statement.lock);
}

static inline void did_kernels(const char *name, uint64_t count)
{
    char what[sizeof(statement.line->what)];
    snprintf(what, sizeof(what), "kernel %s", name);
    state_count(what, count);
    state_count("kernels", count);
}

static inline void did_copies(const char *direction, uint64_t count, uint64_t bytes)
{
    char what[sizeof(statement.line->what)];
    snprintf(what, sizeof(what), "memcpy %s", direction);
    state_range(what, count, count, true, bytes);
    state_count("memcpys", count);
}

static inline void did_copy(const char *direction, uint64_t bytes)
{
    did_copies(direction, 1, bytes);
}

static inline void did_sets(uint64_t count, uint64_t bytes)
{
    state_range("memset", count, count, true, bytes);
}

static inline void did_set(uint64_t bytes)
{
    did_sets(1, bytes);
}

/* The host waited: "Stream Sync", "Event Sync" or "Context Sync". CUDA may wait more often on its own account. */
static inline void did_wait(const char *name)
{
    char what[sizeof(statement.line->what)];
    snprintf(what, sizeof(what), "sync \"%s\"", name);
    state_range(what, 1, UINT64_MAX, false, 0);
}

static inline struct statement_memory *statement_memory(const char *kind)
{
    for (int i = 0; i < statement.kinds; i++)
        if (strcmp(statement.memory[i].kind, kind) == 0)
            return &statement.memory[i];
    if (statement.kinds == STATEMENT_MEMORY_KINDS) {
        fprintf(stderr, "the statement has no space for memory of the kind '%s'\n", kind);
        exit(1);
    }
    statement.memory[statement.kinds].kind = kind;
    return &statement.memory[statement.kinds++];
}

/* KIND is a literal: Device, Pinned, Managed, Registered, Array, Pool or Virtual. */
static inline void did_allocate(const char *kind, uint64_t bytes)
{
    pthread_mutex_lock(&statement.lock);
    if (!statement.silent) {
        struct statement_memory *memory = statement_memory(kind);
        memory->allocations++;
        memory->bytes += bytes;
        memory->in_use += bytes;
        if (memory->in_use > memory->peak)
            memory->peak = memory->in_use;
    }
    pthread_mutex_unlock(&statement.lock);
}

static inline void did_release(const char *kind, uint64_t bytes)
{
    pthread_mutex_lock(&statement.lock);
    if (!statement.silent) {
        struct statement_memory *memory = statement_memory(kind);
        memory->releases++;
        memory->in_use -= bytes;
    }
    pthread_mutex_unlock(&statement.lock);
}

/* What was just allocated stays so until the end. */
static inline void did_leak(const char *kind, uint64_t bytes)
{
    char what[sizeof(statement.line->what)];
    snprintf(what, sizeof(what), "leak %s", kind);
    state_range(what, 1, 1, true, bytes);
}

/* The name that a call's text begins with: up to its arguments, without what it is qualified by. */
static inline void statement_name(char *name, size_t size, const char *text)
{
    size_t length = strcspn(text, "(<");
    snprintf(name, size, "%.*s", (int)length, text);
}

/* RESULT is a cudaError_t or a CUresult: 0 is success in both. */
static inline void statement_check(int result, const char *text, const char *file, int line)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s:%d: error %d from %s\n", file, line, result, text);
    exit(1);
}

/* KIND is "api" or "query". */
static inline void statement_call(const char *kind, int result, const char *text, const char *file, int line)
{
    char name[80], what[sizeof(statement.line->what)];
    statement_check(result, text, file, line);
    statement_name(name, sizeof(name), text);
    snprintf(what, sizeof(what), "%s %s", kind, name);
    state_count(what, 1);
}

/* A call that must fail, with the given error. */
static inline void statement_failure(int result, int wanted, const char *text, const char *file, int line)
{
    char name[80], what[sizeof(statement.line->what)];
    if (result != wanted) {
        fprintf(stderr, "%s:%d: error %d was wanted, not %d, from %s\n", file, line, wanted, result, text);
        exit(1);
    }
    statement_name(name, sizeof(name), text);
    snprintf(what, sizeof(what), "api %s", name);
    state_count(what, 1);
    snprintf(what, sizeof(what), "failure %s", name);
    state_count(what, 1);
}

static inline void statement_launch(int result, bool runs, const char *text, const char *file, int line)
{
    char name[80];
    statement_check(result, text, file, line);
    statement_name(name, sizeof(name), text);
    state_count("api cudaLaunchKernel", 1);
    if (runs)
        did_kernels(name, 1);
}

#define CHECK(call) statement_check((int)(call), #call, __FILE__, __LINE__)
#define CALL(call) statement_call("api", (int)(call), #call, __FILE__, __LINE__)
#define QUERY(call) statement_call("query", (int)(call), #call, __FILE__, __LINE__)
#define CALL_FAILS(wanted, call) statement_failure((int)(call), (int)(wanted), #call, __FILE__, __LINE__)
/* A launch written with <<< >>>. CAPTURE_LAUNCH is one into a stream that is being captured: no kernel runs yet. */
#define LAUNCH(...)                                                                        \
    do {                                                                                   \
        __VA_ARGS__;                                                                       \
        statement_launch((int)cudaGetLastError(), true, #__VA_ARGS__, __FILE__, __LINE__); \
    } while (0)
#define CAPTURE_LAUNCH(...)                                                                 \
    do {                                                                                    \
        __VA_ARGS__;                                                                        \
        statement_launch((int)cudaGetLastError(), false, #__VA_ARGS__, __FILE__, __LINE__); \
    } while (0)

/* A thread was given a name: its row has it, and so have further ones where its ranges do not nest. */
static inline void did_name_row(const char *name)
{
    char what[sizeof(statement.line->what)];
    snprintf(what, sizeof(what), "row \"%s\"", name);
    state_range(what, 1, UINT64_MAX, false, 0);
}

static inline void did_range(const char *name)
{
    state("nvtx push \"%s\"", name);
    state_count("pushes", 1);
}

/* Phases of compilation, and the steps of the just-in-time compiler. */
static inline void did_compile_range(const char *name, uint64_t least, uint64_t most)
{
    char what[sizeof(statement.line->what)];
    snprintf(what, sizeof(what), "compilation \"%s\"", name);
    state_range(what, least, most, false, 0);
}

static inline void did_compile(const char *name, uint64_t count)
{
    did_compile_range(name, count, count);
}

/* Prints the statement. What did not happen at all is stated too: without kernels, the trace must not hold any. */
static inline void state_print(void)
{
    state_silent(false);
    state_count("kernels", 0);
    state_count("memcpys", 0);
    state_count("memset", 0);
    for (int i = 0; i < statement.lines; i++) {
        const struct statement_line *line = &statement.line[i];
        printf("expect %s %llu", line->what, (unsigned long long)line->least);
        if (line->most == UINT64_MAX)
            printf("..");
        else if (line->most != line->least)
            printf("..%llu", (unsigned long long)line->most);
        if (line->tells_bytes)
            printf(" bytes %llu", (unsigned long long)line->bytes);
        putchar('\n');
    }
    for (int i = 0; i < statement.kinds; i++) {
        const struct statement_memory *memory = &statement.memory[i];
        printf("expect memory %s allocations %llu bytes %llu releases %llu peak %llu end %llu\n", memory->kind,
               (unsigned long long)memory->allocations, (unsigned long long)memory->bytes,
               (unsigned long long)memory->releases, (unsigned long long)memory->peak,
               (unsigned long long)memory->in_use);
    }
}

#endif
