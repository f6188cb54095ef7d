/*
 * streams_events: many streams that wait for each other through events, and a host that waits in every way there is.
 *
 * In each round the streams form a chain: every stream waits for the event of the one before, runs a kernel and records
 * its own event. A correct trace holds: a row for each of the 12 streams with one kernel `stage` a round; the kernels
 * of a round never overlap and follow the order of the streams; the waits "Stream Wait Event", and "Event Sync",
 * "Stream Sync" and "Context Sync" where the host waited.
 */
#include <cuda_runtime_api.h>

#include "statement.h"

enum { STREAMS = 12, ROUNDS = 5 };

/* Spends TICKS of the GPU's clock, so that overlaps can be seen. */
__global__ void stage(long long ticks, int *done)
{
    long long start = clock64();
    while (clock64() - start < ticks)
        ;
    *done += 1;
}

struct pipeline {
    cudaStream_t streams[STREAMS];
    cudaEvent_t stage_done[STREAMS], first, last;
    int *done;
};

static void pipeline_init(pipeline *p)
{
    CALL(cudaMalloc((void **)&p->done, sizeof(*p->done)));
    did_allocate("Device", sizeof(*p->done));
    CALL(cudaMemset(p->done, 0, sizeof(*p->done)));
    did_set(sizeof(*p->done));
    for (cudaStream_t &stream : p->streams)
        CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (cudaEvent_t &event : p->stage_done)
        CALL(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CALL(cudaEventCreate(&p->first));
    CALL(cudaEventCreate(&p->last));
    CALL(cudaDeviceSynchronize());
    did_wait("Context Sync");
}

static void pipeline_release(pipeline *p)
{
    CALL(cudaEventDestroy(p->last));
    CALL(cudaEventDestroy(p->first));
    for (cudaEvent_t event : p->stage_done)
        CALL(cudaEventDestroy(event));
    for (cudaStream_t stream : p->streams)
        CALL(cudaStreamDestroy(stream));
    CALL(cudaFree(p->done));
    did_release("Device", sizeof(*p->done));
}

static void wait_for(cudaStream_t stream, cudaEvent_t event)
{
    CALL(cudaStreamWaitEvent(stream, event, 0));
    did_wait("Stream Wait Event");
}

static void round_run(pipeline *p)
{
    for (int i = 0; i < STREAMS; i++) {
        if (i > 0)
            wait_for(p->streams[i], p->stage_done[i - 1]);
        LAUNCH(stage<<<1, 1, 0, p->streams[i]>>>(20000, p->done));
        CALL(cudaEventRecord(p->stage_done[i], p->streams[i]));
    }
    /* The next round begins on the first stream when the last stage of this one is done. */
    wait_for(p->streams[0], p->stage_done[STREAMS - 1]);
}

static void host_waits(pipeline *p)
{
    CALL(cudaEventSynchronize(p->stage_done[STREAMS / 2]));
    did_wait("Event Sync");
    for (cudaStream_t stream : p->streams) {
        CALL(cudaStreamSynchronize(stream));
        did_wait("Stream Sync");
    }
}

int main()
{
    CHECK(cudaSetDevice(0)); /* starts CUDA, and the tracer with it */
    pipeline p;
    pipeline_init(&p);
    CALL(cudaEventRecord(p.first, p.streams[0]));
    for (int i = 0; i < ROUNDS; i++) {
        round_run(&p);
        host_waits(&p);
    }
    CALL(cudaEventRecord(p.last, p.streams[0]));
    CALL(cudaDeviceSynchronize());
    did_wait("Context Sync");
    QUERY(cudaEventQuery(p.last));
    float ms = 0;
    QUERY(cudaEventElapsedTime(&ms, p.first, p.last));
    printf("%d stages in %.3f ms\n", STREAMS * ROUNDS, ms);
    pipeline_release(&p);

    state_count("streams", STREAMS + 1); /* and the default stream, for the set */
    state_count("devices", 1);
    state_count("threads", 1);
    state_print();
    return 0;
}
