/*
 * planted_waits: a host that waits again and again, with nothing queued behind what it waits for; and the twins: see
 * planted.h.
 */
#include <time.h>

#include "planted.h"

enum { ROUNDS = 40 };

static double now_us()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* What the host does with the last result: 100 µs. */
static void use_result()
{
    for (double end = now_us() + 100; now_us() < end;)
        ;
}

static void device(bool fixed)
{
    cudaStream_t stream = new_stream();
    float *data = device_memory(ELEMENTS * sizeof(float));
    for (int i = 0; i < ROUNDS; i++) {
        launch_work(data, 1000, stream);
        if (!fixed)
            CHECK(cudaDeviceSynchronize());
        use_result();
    }
}

static void stream(bool fixed)
{
    cudaStream_t streams[1] = {new_stream()};
    float *data = device_memory(ELEMENTS * sizeof(float));
    for (int i = 0; i < ROUNDS; i++) {
        launch_work(data, 1000, streams[0]);
        if (!fixed)
            CHECK(cudaStreamSynchronize(streams[0]));
        use_result();
    }
}

/* The host waits for the round before the last, so that the GPU has work while it does. */
static void event(bool fixed)
{
    cudaStream_t streams[1] = {new_stream()};
    cudaEvent_t events[2];
    float *data = device_memory(ELEMENTS * sizeof(float));
    for (int i = 0; i < 2; i++)
        CHECK(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    for (int i = 0; i < ROUNDS; i++) {
        launch_work(data, 1000, streams[0]);
        CHECK(cudaEventRecord(events[i % 2], streams[0]));
        CHECK(cudaEventSynchronize(events[fixed ? (i + 1) % 2 : i % 2]));
        use_result();
    }
}

/* As item() of PyTorch: 4 bytes to pageable memory after each round. */
static void item(bool fixed)
{
    cudaStream_t streams[1] = {new_stream()};
    float *data = device_memory(ELEMENTS * sizeof(float)), loss;
    for (int i = 0; i < ROUNDS; i++) {
        launch_work(data, 1000, streams[0]);
        if (!fixed || i % 20 == 19) {
            CHECK(cudaMemcpyAsync(&loss, data, sizeof(loss), cudaMemcpyDeviceToHost, streams[0]));
            CHECK(cudaStreamSynchronize(streams[0]));
        }
        use_result();
    }
}

static const planted_case cases[] = {{"device", device}, {"stream", stream}, {"event", event}, {"item", item}};

PLANTED_MAIN(cases)
