/*
 * planted_streams: a stream that does not run at the same time as the default stream, and the twin: see planted.h.
 */
#include "planted.h"

enum { ROUNDS = 50 };

static void default_stream(bool fixed)
{
    cudaStream_t stream;
    float *data[] = {device_memory(ELEMENTS * sizeof(float)), device_memory(ELEMENTS * sizeof(float))};
    CHECK(cudaStreamCreateWithFlags(&stream, fixed ? cudaStreamNonBlocking : cudaStreamDefault));
    cudaStream_t streams[] = {stream, 0};
    hold(streams, 2);
    for (int i = 0; i < ROUNDS; i++) {
        launch_work(data[0], 500, stream);
        launch_work(data[1], 500, 0);
    }
}

static const planted_case cases[] = {{"default-stream", default_stream}};

PLANTED_MAIN(cases)
