/*
 * planted_memory: memory that is allocated, pinned or migrated in the loop, and the twins: see planted.h.
 */
#include "planted.h"

enum { ROUNDS = 100 };
static const size_t bytes = 1 << 20;

static void allocation(bool fixed)
{
    cudaStream_t stream = new_stream();
    void *data;
    for (int i = 0; i < ROUNDS; i++) {
        if (!fixed || i == 0)
            CHECK(cudaMalloc(&data, bytes));
        launch_work((float *)data, 20, stream);
        if (!fixed)
            CHECK(cudaFree(data)); /* waits for the GPU */
    }
}

static void pinning(bool fixed)
{
    cudaStream_t stream = new_stream();
    float *data = device_memory(bytes);
    char *host = NULL;
    for (int i = 0; i < 10 * ROUNDS; i++) {
        if (!fixed || i == 0)
            CHECK(cudaMallocHost((void **)&host, bytes));
        host[0] = (char)i;
        launch_work(data, 5, stream);
        if (!fixed)
            CHECK(cudaFreeHost(host));
    }
}

/* The GPU and the host touch the memory by turns, or the GPU alone does. The simulated GPU has no page faults. */
static void managed(bool fixed)
{
    cudaStream_t stream = new_stream();
    float *data;
    CHECK(cudaMallocManaged((void **)&data, bytes));
    memset(data, 0, bytes);
    for (int i = 0; i < ROUNDS; i++) {
        launch_work(data, 20, stream);
        if (fixed)
            continue;
        CHECK(cudaStreamSynchronize(stream));
        memset(data, i, bytes);
    }
}

static const planted_case cases[] = {{"allocation", allocation}, {"pinning", pinning}, {"managed", managed}};

PLANTED_MAIN(cases)
