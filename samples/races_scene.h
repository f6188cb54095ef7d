/* What the scenes of races.cu share: two streams, memory, and the functions that do things to it. */
#ifndef SAMPLES_RACES_SCENE_H
#define SAMPLES_RACES_SCENE_H

#include <cuda_runtime_api.h>
#include <gputrace/gputrace.h>
#include <pthread.h>

#include "statement.h"

#define PLACE __attribute__((noinline)) static void /* a function that can be found in a call stack */

enum { ELEMENTS = 1 << 14, THREADS = 128 };
static const size_t bytes = ELEMENTS * sizeof(int);

__global__ void fill(int *to, int value)
{
    to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void add(int *to, const int *from)
{
    to[blockIdx.x * blockDim.x + threadIdx.x] += from[blockIdx.x * blockDim.x + threadIdx.x];
}

/* Spends TICKS of the GPU's clock. */
__global__ void spend(long long ticks)
{
    long long start = clock64();
    while (clock64() - start < ticks)
        ;
}

struct scene {
    bool mended;
    cudaStream_t one, two; /* do not synchronise with the legacy default stream */
    cudaEvent_t event;
    int *data, *other, *host, *host_too; /* memory of the device; pinned memory */
    volatile int host_done;              /* by a function of the host */
    int reports;
};

static scene the;

static void must_tell(const char *kind, const char *second, const char *first)
{
    if (the.mended)
        return;
    printf("expect hazard \"%s\" %s %s\n", kind, second, first);
    the.reports++;
}

/* What comes next in `two` is done after what is in `one`; only where the program is mended. */
static void order_if_mended()
{
    if (!the.mended)
        return;
    CHECK(cudaEventRecord(the.event, the.one));
    CHECK(cudaStreamWaitEvent(the.two, the.event, 0));
}

PLACE copy_in(int *to, const int *from, cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
}

PLACE copy_in_too(int *to, const int *from, cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
}

PLACE copy_out(int *to, const int *from, cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
}

PLACE clear(int *to, cudaStream_t stream)
{
    CHECK(cudaMemsetAsync(to, 0, bytes, stream));
}

PLACE clear_too(int *to, cudaStream_t stream)
{
    CHECK(cudaMemsetAsync(to, 1, bytes, stream));
}

PLACE run_fill(int *to, cudaStream_t stream)
{
    gputrace_access(to, bytes, GPUTRACE_WRITE, stream);
    fill<<<ELEMENTS / THREADS, THREADS, 0, stream>>>(to, 7);
    CHECK(cudaGetLastError());
}

PLACE run_add(int *to, const int *from, cudaStream_t stream)
{
    gputrace_access(from, bytes, GPUTRACE_READ, stream);
    gputrace_access(to, bytes, GPUTRACE_READ_WRITE, stream);
    add<<<ELEMENTS / THREADS, THREADS, 0, stream>>>(to, from);
    CHECK(cudaGetLastError());
}

static void run_spend(cudaStream_t stream)
{
    spend<<<1, 1, 0, stream>>>(200000);
    CHECK(cudaGetLastError());
}

#endif
