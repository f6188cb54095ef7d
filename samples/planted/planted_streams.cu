/*
 * planted_streams: a stream that does not run at the same time as the default stream, and the twin: see planted.h.
 */
#include "planted.h"

enum { ROUNDS = 50, MICROSECONDS = 500 };

/* Kernels of few blocks, so that the GPU can run two at once. */
static void default_stream(bool fixed)
{
    enum { BLOCKS = 8 };
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, fixed ? cudaStreamNonBlocking : cudaStreamDefault));
    cudaStream_t streams[] = {stream, 0};
    hold(streams, 2);
    for (int i = 0; i < ROUNDS; i++) {
        spinning<<<BLOCKS, WORK_THREADS, 0, stream>>>(MICROSECONDS);
        spinning<<<BLOCKS, WORK_THREADS>>>(MICROSECONDS);
    }
}

static const planted_case cases[] = {{"default-stream", default_stream}};

PLANTED_MAIN(cases)
