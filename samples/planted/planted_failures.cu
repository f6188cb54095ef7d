/*
 * planted_failures: calls that fail, memory that is not freed or freed twice, streams that race, a process that is
 * killed; and the twins: see planted.h.
 */
#include <signal.h>
#include <unistd.h>

#include "planted.h"

static const size_t bytes = 1 << 20;

static void failing(bool fixed)
{
    for (int i = 0; i < 5; i++) {
        void *data;
        if (cudaMalloc(&data, fixed ? bytes : (size_t)1 << 50) == cudaSuccess)
            CHECK(cudaFree(data));
        (void)cudaGetLastError();
    }
}

/* For the plugin leaks. */
static void leak(bool fixed)
{
    float *data = device_memory(bytes);
    launch_work(data, 10, 0);
    CHECK(cudaDeviceSynchronize());
    if (fixed)
        CHECK(cudaFree(data));
}

/* Keeps the memory of each round. The host is a round ahead of the GPU. */
static void growing(bool fixed)
{
    cudaEvent_t ended[2];
    void *data;
    for (int i = 0; i < 2; i++)
        CHECK(cudaEventCreateWithFlags(&ended[i], cudaEventDisableTiming));
    for (int i = 0; i < 40; i++) {
        if (!fixed || i == 0)
            CHECK(cudaMalloc(&data, bytes));
        CHECK(cudaEventSynchronize(ended[i % 2])); /* of the round before the last */
        launch_work((float *)data, 4000, 0);
        CHECK(cudaEventRecord(ended[i % 2], 0));
    }
    if (fixed)
        CHECK(cudaFree(data));
}

/* Frees what it needs no more at the end, but for a part. */
static void forgotten(bool fixed)
{
    void *part;
    float *data = device_memory(4 * bytes);
    CHECK(cudaMalloc(&part, bytes));
    launch_work(data, 10, 0);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    if (fixed)
        CHECK(cudaFree(part));
}

static void twice(bool fixed)
{
    float *data = device_memory(bytes);
    launch_work(data, 10, 0);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    if (!fixed)
        (void)cudaFree(data);
    (void)cudaGetLastError();
}

/* For the plugin hazards: two streams write to the same memory. */
static void race(bool fixed)
{
    cudaStream_t streams[2] = {new_stream(), new_stream()};
    void *data = device_memory(bytes), *host = pinned_memory(bytes);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, streams[0]));
    if (fixed)
        CHECK(cudaStreamSynchronize(streams[0]));
    CHECK(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, streams[1]));
    CHECK(cudaDeviceSynchronize());
}

static void killed(bool fixed)
{
    float *data = device_memory(bytes);
    launch_work(data, 10, 0);
    CHECK(cudaDeviceSynchronize());
    if (!fixed)
        kill(getpid(), SIGKILL);
}

static const planted_case cases[] = {{"failing", failing},     {"leak", leak},   {"growing", growing},
                                     {"forgotten", forgotten}, {"twice", twice}, {"race", race},
                                     {"killed", killed}};

PLANTED_MAIN(cases)
