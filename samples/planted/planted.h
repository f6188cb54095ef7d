/*
 * What the planted programs share. Each has cases that waste time in one way, which `gputrace report -r findings` must
 * find, and their twins that do the same work well:
 *
 *     planted_copies                  lists its cases
 *     planted_copies pageable         wastes time
 *     planted_copies pageable-fixed   does not
 *
 * A case is a function of a bool that says whether it is the twin.
 */
#ifndef SAMPLES_PLANTED_PLANTED_H
#define SAMPLES_PLANTED_PLANTED_H

#include <cuda_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) planted_check((int)(call), #call, __FILE__, __LINE__)

static inline void planted_check(int result, const char *text, const char *file, int line)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s:%d: error %d from %s\n", file, line, result, text);
    exit(1);
}

/* Adds 1 to each element; what a thread does takes so little that the number of threads decides the time. */
__global__ void work(float *data, int elements)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) % elements;
    if (threadIdx.x == 0)
        data[i] += 1;
}

enum { WORK_THREADS = 256, BLOCKS_PER_US = 1320, ELEMENTS = 1 << 18 };

/* About so many µs of work on an H200. */
static inline void launch_work(float *data, int microseconds, cudaStream_t stream)
{
    work<<<microseconds * BLOCKS_PER_US, WORK_THREADS, 0, stream>>>(data, ELEMENTS);
    CHECK(cudaGetLastError());
}

/* Keeps a multiprocessor busy for so long; on the simulated GPU, as SIMGPU_KERNEL_NS says. */
static __device__ inline void spin(int microseconds)
{
    enum { CYCLES_PER_US = 1900 };
    for (long long end = clock64() + (long long)microseconds * CYCLES_PER_US; clock64() < end;)
        ;
}

__global__ void spinning(int microseconds)
{
    spin(microseconds);
}

static inline float *device_memory(size_t bytes)
{
    void *memory;
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMemset(memory, 0, bytes));
    return (float *)memory;
}

static inline void *pinned_memory(size_t bytes)
{
    void *memory;
    CHECK(cudaMallocHost(&memory, bytes));
    memset(memory, 0, bytes);
    return memory;
}

static inline cudaStream_t new_stream()
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

/* Streams that begin after 20 ms, when the host has launched all that follows: how fast it launches does not matter. */
static inline void hold(cudaStream_t *streams, int count)
{
    cudaEvent_t event;
    float *data = device_memory(ELEMENTS * sizeof(float));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaDeviceSynchronize());
    launch_work(data, 20000, streams[0]);
    CHECK(cudaEventRecord(event, streams[0]));
    for (int i = 1; i < count; i++)
        CHECK(cudaStreamWaitEvent(streams[i], event, 0));
}

/* Loads the code, so that no launch waits for that later. */
static inline void warm_up()
{
    float *data = device_memory(ELEMENTS * sizeof(float));
    launch_work(data, 1, 0);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}

struct planted_case {
    const char *name;
    void (*run)(bool fixed);
};

static inline int planted_main(int argc, char **argv, const struct planted_case *cases, size_t count)
{
    for (size_t i = 0; argc < 2 && i < count; i++)
        printf("%s\n%s-fixed\n", cases[i].name, cases[i].name);
    if (argc < 2)
        return 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(cases[i].name);
        bool named = strncmp(argv[1], cases[i].name, length) == 0;
        bool fixed = named && strcmp(argv[1] + length, "-fixed") == 0;
        if (!named || (!fixed && argv[1][length]))
            continue;
        warm_up();
        cases[i].run(fixed);
        CHECK(cudaDeviceSynchronize());
        return 0;
    }
    fprintf(stderr, "%s: there is no case '%s'\n", argv[0], argv[1]);
    return 2;
}

#define PLANTED_MAIN(cases)                                                         \
    int main(int argc, char **argv)                                                 \
    {                                                                               \
        return planted_main(argc, argv, (cases), sizeof(cases) / sizeof(*(cases))); \
    }

#endif
