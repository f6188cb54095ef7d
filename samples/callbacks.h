/*
 * What the chapters of callbacks.cu share: the statement of what callbacks report, and what they work with.
 *
 *     TELLS(3, "event_record cuEventRecord", cudaEventRecord(event, stream));      three calls, each reported once
 */
#ifndef SAMPLES_CALLBACKS_H
#define SAMPLES_CALLBACKS_H

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "statement.h"

/* How often callbacks of a kind are called for a function: WHAT is "KIND FUNCTION", as in GPUTRACE_KINDS and
 * call.function of gputrace/callbacks.h. */
struct statement_reported {
    char what[120];
    uint64_t least, most, not_ready, failed;
};

static struct statement_reported statement_tells[STATEMENT_LINES];
static int statement_tellings;

static inline struct statement_reported *statement_reported(const char *what)
{
    for (int i = 0; i < statement_tellings; i++)
        if (strcmp(statement_tells[i].what, what) == 0)
            return &statement_tells[i];
    if (statement_tellings == STATEMENT_LINES) {
        fprintf(stderr, "the statement has no space for '%s'\n", what);
        exit(1);
    }
    struct statement_reported *reported = &statement_tells[statement_tellings++];
    snprintf(reported->what, sizeof(reported->what), "%s", what);
    return reported;
}

/* Callbacks report WHAT between LEAST and MOST times more. */
static inline void state_reported_range(const char *what, uint64_t least, uint64_t most)
{
    pthread_mutex_lock(&statement.lock);
    struct statement_reported *reported = statement_reported(what);
    reported->least += least;
    reported->most += most;
    pthread_mutex_unlock(&statement.lock);
}

static inline void state_reported(const char *what, uint64_t times)
{
    state_reported_range(what, times, times);
}

/* How a call may end: well, not being ready, with another error. */
enum { STATEMENT_DONE = 1, STATEMENT_NOT_READY = 2, STATEMENT_FAILED = 4 };
static bool statement_surprised; /* a call succeeded that was to fail */

/* WANTED: any of them. What really happened is stated, and anything else complained of. */
static inline void statement_tell(int result, int wanted, const char *what, const char *text, const char *file,
                                  int line)
{
    int end = result == 0 ? STATEMENT_DONE : result == 600 ? STATEMENT_NOT_READY : STATEMENT_FAILED;
    if (!(end & wanted)) {
        fprintf(stderr, "%s:%d: result %d was not wanted from %s\n", file, line, result, text);
        if (wanted == STATEMENT_DONE)
            exit(1);
        statement_surprised = true;
    }
    pthread_mutex_lock(&statement.lock);
    struct statement_reported *reported = statement_reported(what);
    reported->least += end == STATEMENT_DONE;
    reported->most += end == STATEMENT_DONE;
    reported->not_ready += end == STATEMENT_NOT_READY;
    reported->failed += end == STATEMENT_FAILED;
    pthread_mutex_unlock(&statement.lock);
}

#define STATEMENT_TELLS(times, wanted, what, ...)                                                   \
    do {                                                                                            \
        for (int statement_i = 0; statement_i < (times); statement_i++)                             \
            statement_tell((int)(__VA_ARGS__), (wanted), (what), #__VA_ARGS__, __FILE__, __LINE__); \
    } while (0)
/* Makes a call so many times, each of which is reported as WHAT: must succeed; must not be ready; must fail; may fail.
 */
#define TELLS(times, what, ...) STATEMENT_TELLS(times, STATEMENT_DONE, what, __VA_ARGS__)
#define TELLS_NOT_READY(times, what, ...) STATEMENT_TELLS(times, STATEMENT_NOT_READY, what, __VA_ARGS__)
#define TELLS_FAILED(times, what, ...) STATEMENT_TELLS(times, STATEMENT_FAILED, what, __VA_ARGS__)
#define TELLS_ANYHOW(times, what, ...) STATEMENT_TELLS(times, STATEMENT_DONE | STATEMENT_FAILED, what, __VA_ARGS__)

/* The statement of what callbacks report. Gives the program's exit status. */
static inline int state_print_reported(void)
{
    for (int i = 0; i < statement_tellings; i++) {
        const struct statement_reported *reported = &statement_tells[i];
        printf("expect call %s %llu", reported->what, (unsigned long long)reported->least);
        if (reported->most != reported->least)
            printf("..%llu", (unsigned long long)reported->most);
        if (reported->not_ready)
            printf(" not ready %llu", (unsigned long long)reported->not_ready);
        printf(" failed %llu\n", (unsigned long long)reported->failed);
    }
    return statement_surprised ? 1 : 0;
}

/* --- what the chapters work with --- */

/* The driver's name of a function that takes a stream, and of one that works in the default stream without taking it.
 */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define STREAM(name) name "_ptsz"
#define SYNC(name) name "_ptds"
#else
#define STREAM(name) name
#define SYNC(name) name
#endif

enum { BYTES = 1 << 16, WIDTH = 96, HEIGHT = 8, SIDE = 16 };

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry nothing()\n{\n    ret;\n}\n";
static const CUdeviceptr nowhere = 0x1000;

static cudaStream_t stream;       /* that does not wait for the default stream */
static unsigned *device, *twin;   /* BYTES each */
static unsigned char host[BYTES]; /* pageable */
static __device__ unsigned symbol[64];

__global__ void touch(unsigned *data)
{
    data[threadIdx.x] += symbol[threadIdx.x % 64];
}

static cudaError_t launch(int threads)
{
    (void)cudaGetLastError(); /* of calls before */
    touch<<<1, threads, 0, stream>>>(device);
    return cudaGetLastError();
}

static CUdeviceptr address(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

static void wait_for_stream(void)
{
    TELLS(1, "stream_synchronization " STREAM("cuStreamSynchronize"), cudaStreamSynchronize(stream));
}

#define FREE(what, ...) TELLS(1, "memory_deallocation " what, __VA_ARGS__)

#endif
