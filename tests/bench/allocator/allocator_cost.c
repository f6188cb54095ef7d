/*
 * allocator_cost [MILLISECONDS]: what an allocation and its free cost in gputrace's allocator, beside the driver: that
 * is replaced by functions which do next to nothing, and their time, measured alone, is taken away. On one thread and
 * on several, each with a stream of its own; with a thousand allocations alive. Each of 41 measurements takes so long
 * (100), however many pairs that are: threads that really run at once wait for each other much longer than those that
 * share a processor.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <gputrace/allocator.h>

#include "common/clock.h"
#include "allocator/gpu.h"

enum { ALIVE = 1024, THREADS_MAX = 8, TIMES = 5, ROUND = 512 };

static struct CUctx_st *const context = (struct CUctx_st *)1;
static uint64_t limit = 100 * NS_PER_MS; /* of a measurement */

/* --- a driver that does nothing --- */

static __thread uint64_t given; /* addresses of each thread's own */

static CUresult no_device(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult no_total(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = (size_t)1 << 40;
    return CUDA_SUCCESS;
}

static CUresult no_primary(CUcontext *primary, CUdevice device)
{
    (void)device;
    *primary = context;
    return CUDA_SUCCESS;
}

static CUresult no_current(CUcontext *current)
{
    *current = context;
    return CUDA_SUCCESS;
}

static CUresult no_pool(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
    (void)properties;
    *pool = (CUmemoryPool)1;
    return CUDA_SUCCESS;
}

static CUresult no_attribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    (void)pool, (void)attribute, (void)value;
    return CUDA_SUCCESS;
}

static CUresult no_memory(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    (void)bytes, (void)pool;
    given = given % (4 * ALIVE) + 1;
    *pointer = (uintptr_t)stream << 40 | given << 9;
    return CUDA_SUCCESS;
}

static CUresult no_free(CUdeviceptr pointer, CUstream stream)
{
    (void)pointer, (void)stream;
    return CUDA_SUCCESS;
}

static CUresult no_capture(CUstream stream, CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

static CUresult no_mode(CUstreamCaptureMode *mode)
{
    (void)mode;
    return CUDA_SUCCESS;
}

static const struct cuda_calls nothing = {
    .cuDeviceGet = no_device,
    .cuDeviceTotalMem_v2 = no_total,
    .cuDevicePrimaryCtxRetain = no_primary,
    .cuCtxGetCurrent = no_current,
    .cuMemPoolCreate = no_pool,
    .cuMemPoolSetAttribute = no_attribute,
    .cuMemPoolGetAttribute = no_attribute,
    .cuMemAllocFromPoolAsync = no_memory,
    .cuMemFreeAsync = no_free,
    .cuStreamIsCapturing = no_capture,
    .cuThreadExchangeStreamCaptureMode = no_mode,
};

/* --- measuring --- */

/* Through a pointer, as the allocator calls it. */
static const struct cuda_calls *volatile driver = &nothing;

/* All do ROUND pairs, the last of which is number `until` - 1. */
static void call_driver_alone(CUstream stream, uint64_t until)
{
    CUcontext current;
    CUstreamCaptureStatus status;
    CUdeviceptr pointer;
    for (uint64_t i = until - ROUND; i < until; i++) {
        for (int twice = 0; twice < 2; twice++) {
            driver->cuCtxGetCurrent(&current);
            driver->cuStreamIsCapturing(stream, &status);
        }
        driver->cuMemAllocFromPoolAsync(&pointer, 512, (CUmemoryPool)1, stream);
        driver->cuMemFreeAsync(pointer, stream);
    }
}

static __thread void *alive[ALIVE];

static void allocate_and_free(CUstream stream, uint64_t until)
{
    for (uint64_t i = until - ROUND; i < until; i++) {
        void **place = &alive[i * 7 % ALIVE];
        gputrace_free(*place, 512, 0, stream);
        *place = gputrace_malloc(512, 0, stream);
    }
}

typedef void work_function(CUstream stream, uint64_t until);

struct worker {
    work_function *work;
    CUstream stream;
    pthread_t thread;
    uint64_t pairs, ns;
};

static void *run(void *data)
{
    struct worker *worker = data;
    uint64_t begun = clock_monotonic();
    do {
        worker->pairs += ROUND;
        worker->work(worker->stream, worker->pairs);
        worker->ns = clock_monotonic() - begun;
    } while (worker->ns < limit);
    for (unsigned i = 0; i < ALIVE; i++)
        gputrace_free(alive[i], 512, 0, worker->stream);
    return NULL;
}

/* Nanoseconds of one pair on one thread. */
static double measure_once(work_function *work, unsigned threads)
{
    struct worker workers[THREADS_MAX];
    uint64_t pairs = 0, ns = 0;
    for (unsigned i = 0; i < threads; i++) {
        workers[i] = (struct worker){.work = work, .stream = (CUstream)(uintptr_t)(i + 16)};
        if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0)
            exit(1);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        pairs += workers[i].pairs;
        ns += workers[i].ns;
    }
    return (double)ns / (double)pairs;
}

/* The least of some: whatever else the machine does only adds to it. */
static double measure(work_function *work, unsigned threads)
{
    double least = measure_once(work, threads);
    for (int i = 1; i < TIMES; i++) {
        double again = measure_once(work, threads);
        least = again < least ? again : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        limit = strtoull(argv[1], NULL, 10) * NS_PER_MS;
    setvbuf(stdout, NULL, _IOLBF, 0); /* each line when it is known */
    cuda_calls_replace(&nothing);
    measure_once(allocate_and_free, 1); /* for the sake of caches */
    for (unsigned threads = 1; threads <= THREADS_MAX; threads *= 2) {
        double with = measure(allocate_and_free, threads), without = measure(call_driver_alone, threads);
        printf("%u thread%s: %.0f ns for a malloc and a free, beside the driver's\n", threads, threads > 1 ? "s" : "",
               with - without);
    }
    struct gputrace_allocator_stats stats;
    gputrace_allocator_stats(0, &stats);
    return stats.allocations.current == 0 && stats.unknown_frees == 0 ? 0 : 1;
}
