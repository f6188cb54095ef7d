/*
 * planted_copies: copies and sets that waste time, and their twins: see planted.h.
 */
#include "planted.h"

enum { ROUNDS = 100 };
static const size_t part_bytes = 2 << 20, piece_bytes = 4 << 10;

/* Time counts from here on (tests/bench/gains): what comes before is done once. */
static void begin(cudaStream_t *streams, int count, bool held)
{
    if (held)
        hold(streams, count);
    else
        CHECK(cudaDeviceSynchronize());
}

/* Copies parts in, and works on each. COPY says how. */
static void copy_and_work(void *host, void (*copy)(void *to, const void *from, cudaStream_t stream), bool held)
{
    cudaStream_t stream = new_stream();
    float *part = device_memory(part_bytes);
    begin(&stream, 1, held);
    for (int i = 0; i < ROUNDS; i++) {
        copy(part, host, stream);
        launch_work(part, 40, stream);
    }
}

/* The same with two parts: one is copied in a stream of its own while the other is worked on. */
static void copy_while_working(const void *host, bool held)
{
    cudaStream_t streams[] = {new_stream(), new_stream()};
    cudaEvent_t copied[2], worked[2];
    float *parts[2];
    for (int i = 0; i < 2; i++) {
        parts[i] = device_memory(part_bytes);
        CHECK(cudaEventCreateWithFlags(&copied[i], cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&worked[i], cudaEventDisableTiming));
    }
    begin(streams, 2, held);
    for (int i = 0; i < ROUNDS; i++) {
        int side = i % 2;
        if (i >= 2)
            CHECK(cudaStreamWaitEvent(streams[0], worked[side], 0));
        CHECK(cudaMemcpyAsync(parts[side], host, part_bytes, cudaMemcpyHostToDevice, streams[0]));
        CHECK(cudaEventRecord(copied[side], streams[0]));
        CHECK(cudaStreamWaitEvent(streams[1], copied[side], 0));
        launch_work(parts[side], 40, streams[1]);
        CHECK(cudaEventRecord(worked[side], streams[1]));
    }
}

static void copy_async(void *to, const void *from, cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(to, from, part_bytes, cudaMemcpyHostToDevice, stream));
}

static void copy_and_wait(void *to, const void *from, cudaStream_t)
{
    CHECK(cudaMemcpy(to, from, part_bytes, cudaMemcpyHostToDevice));
}

static void pageable(bool fixed)
{
    if (fixed)
        copy_while_working(pinned_memory(part_bytes), true);
    else
        copy_and_work(calloc(1, part_bytes), copy_async, true);
}

/* A synchronous copy does not wait for a stream that is held. */
static void blocking(bool fixed)
{
    if (fixed)
        copy_while_working(pinned_memory(part_bytes), false);
    else
        copy_and_work(pinned_memory(part_bytes), copy_and_wait, false);
}

static void serial(bool fixed)
{
    if (fixed)
        copy_while_working(pinned_memory(part_bytes), true);
    else
        copy_and_work(pinned_memory(part_bytes), copy_async, true);
}

static void small(bool fixed)
{
    enum { PIECES = 64 };
    cudaStream_t stream = new_stream();
    char *host = (char *)pinned_memory(PIECES * piece_bytes);
    char *device = (char *)device_memory(PIECES * piece_bytes);
    for (int i = 0; i < ROUNDS / 10; i++) {
        size_t bytes = fixed ? PIECES * piece_bytes : piece_bytes;
        for (size_t at = 0; at < PIECES * piece_bytes; at += bytes)
            CHECK(cudaMemcpyAsync(device + at, host + at, bytes, cudaMemcpyHostToDevice, stream));
        launch_work((float *)device, 100, stream);
    }
}

static void sets(bool fixed)
{
    const size_t bytes = 8 << 20;
    cudaStream_t stream = new_stream();
    void *pinned = pinned_memory(bytes), *memory = device_memory(bytes);
    float *data = device_memory(part_bytes);
    for (int i = 0; i < ROUNDS; i++) {
        if (fixed)
            CHECK(cudaMemsetAsync(memory, 0, bytes, stream));
        else
            CHECK(cudaMemset(pinned, 0, bytes));
        launch_work(data, 10, stream);
    }
}

static const planted_case cases[] = {
    {"pageable", pageable}, {"blocking", blocking}, {"serial", serial}, {"small", small}, {"sets", sets},
};

PLANTED_MAIN(cases)
