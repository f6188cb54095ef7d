/* Planted hazards, each of which order_if_mended() or what stands there for it mends. */
#ifndef SAMPLES_RACES_PLANTED_H
#define SAMPLES_RACES_PLANTED_H

#include "races_scene.h"

static void copy_copy()
{
    copy_in(the.data, the.host, the.one);
    order_if_mended();
    copy_in_too(the.data, the.host_too, the.two);
    must_tell("race", "copy_in_too", "copy_in");
}

static void set_copy()
{
    clear(the.data, the.one);
    order_if_mended();
    copy_out(the.host, the.data, the.two);
    must_tell("race", "copy_out", "clear");
}

/* Two copies out to the same pinned memory; the first of which the host waits for, when mended. */
static void staging()
{
    copy_out(the.host, the.data, the.one);
    if (the.mended)
        CHECK(cudaStreamSynchronize(the.one));
    copy_in(the.other, the.host, the.two);
    must_tell("race", "copy_in", "copy_out");
}

static void kernels()
{
    run_fill(the.data, the.one);
    order_if_mended();
    run_add(the.other, the.data, the.two);
    must_tell("race", "run_add", "run_fill");
}

PLACE give_back(int *memory, cudaStream_t stream)
{
    CHECK(cudaFreeAsync(memory, stream));
}

static int *take(cudaStream_t stream)
{
    int *memory;
    CHECK(cudaMallocAsync((void **)&memory, bytes, stream));
    return memory;
}

static void free_async()
{
    int *memory = take(the.two);
    CHECK(cudaStreamSynchronize(the.two));
    clear(memory, the.one);
    run_spend(the.two); /* so that it goes well, this time */
    order_if_mended();
    give_back(memory, the.two);
    must_tell("race", "give_back", "clear");
}

/* CUDA may refuse it, or not. */
PLACE clear_freed(int *memory, cudaStream_t stream)
{
    if (cudaMemsetAsync(memory, 0, bytes, stream) != cudaSuccess)
        (void)cudaGetLastError();
}

static void use_after_free()
{
    int *memory = take(the.one);
    if (the.mended)
        clear_freed(memory, the.one);
    give_back(memory, the.one);
    if (!the.mended)
        clear_freed(memory, the.one);
    must_tell("use after free", "clear_freed", "give_back");
}

PLACE release(int *memory)
{
    CHECK(cudaFree(memory));
}

static void use_after_cuda_free()
{
    int *memory;
    CHECK(cudaMalloc((void **)&memory, bytes));
    if (the.mended)
        clear_freed(memory, the.one);
    release(memory);
    if (!the.mended)
        clear_freed(memory, the.one);
    must_tell("use after free", "clear_freed", "release");
}

static void use_before_allocation()
{
    int *memory = take(the.one);
    order_if_mended();
    clear(memory, the.two);
    must_tell("use before allocation", "clear", "take");
    CHECK(cudaStreamSynchronize(the.two));
    CHECK(cudaFreeAsync(memory, the.one));
}

PLACE wait_for(cudaStream_t stream, cudaEvent_t event)
{
    CHECK(cudaStreamWaitEvent(stream, event, 0));
}

static void wait_never_recorded()
{
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    clear(the.data, the.one);
    if (the.mended)
        CHECK(cudaEventRecord(event, the.one));
    wait_for(the.two, event);
    copy_out(the.host, the.data, the.two);
    must_tell("race", "copy_out", "clear");
    must_tell("wait for nothing", "wait_for", "-");
    CHECK(cudaEventDestroy(event));
}

/* The default stream does not wait for streams that are made not to; for those that are, it does. */
static void legacy()
{
    cudaStream_t blocking;
    CHECK(cudaStreamCreate(&blocking));
    cudaStream_t stream = the.mended ? blocking : the.one;
    clear(the.data, stream);
    clear_too(the.data, nullptr);
    must_tell("race", "clear_too", "clear");
    CHECK(cudaStreamDestroy(blocking));
}

/* Columns of a matrix, side by side; one byte too wide. */
static void halo()
{
    enum { PITCH = 512, ROWS = 64, COLUMN = 16 };
    char *matrix = (char *)the.data;
    CHECK(cudaMemset2DAsync(matrix, PITCH, 1, the.mended ? COLUMN : COLUMN + 1, ROWS, the.one));
    clear(the.other, the.one);
    CHECK(cudaMemcpy2DAsync(matrix + COLUMN, PITCH, the.host, COLUMN, COLUMN, ROWS, cudaMemcpyHostToDevice, the.two));
    must_tell("race", "halo", "halo");
}

/* The event is recorded before the work that is to be waited for. */
static void recorded_too_early()
{
    CHECK(cudaEventRecord(the.event, the.one));
    clear(the.data, the.one);
    if (the.mended)
        CHECK(cudaEventRecord(the.event, the.one));
    wait_for(the.two, the.event);
    copy_out(the.host, the.data, the.two);
    must_tell("race", "copy_out", "clear");
}

#endif
