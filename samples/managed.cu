/*
 * managed: memory that host and GPU share, and that moves between them.
 *
 * A correct trace with --trace=all,unified-memory has a row "unified memory" of the GPU. On it are the migrations that
 * were asked for, of all bytes of one array to the device and back; on a real GPU also the page faults of the GPU and
 * of the host at another array, with the migrations that they cause.
 */
#include <cuda_runtime_api.h>

#include "statement.h"

enum { THREADS = 256, ELEMENTS = 1 << 20 };
static const size_t bytes = ELEMENTS * sizeof(unsigned);

__global__ void touch(unsigned *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

static unsigned *allocate(void)
{
    unsigned *data;
    CALL(cudaMallocManaged((void **)&data, bytes, cudaMemAttachGlobal));
    did_allocate("Managed", bytes);
    memset(data, 1, bytes);
    return data;
}

static void prefetched(unsigned *data)
{
    cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
    CALL(cudaMemPrefetchAsync(data, bytes, device, 0, 0));
    CALL(cudaDeviceSynchronize());
    did_wait("Context Sync");
    CALL(cudaMemPrefetchAsync(data, bytes, host, 0, 0));
    CALL(cudaDeviceSynchronize());
    did_wait("Context Sync");
}

/* Nobody asks for the migrations: first the GPU, then the host finds pages that are not there. */
static unsigned faulted(unsigned *data)
{
    LAUNCH(touch<<<ELEMENTS / THREADS, THREADS>>>(data));
    CALL(cudaDeviceSynchronize());
    did_wait("Context Sync");
    return data[ELEMENTS / 2];
}

int main(void)
{
    CHECK(cudaSetDevice(0));
    unsigned *one = allocate(), *other = allocate();
    prefetched(one);
    printf("element %u\n", faulted(other));
    CALL(cudaFree(one));
    did_release("Managed", bytes);
    CALL(cudaFree(other));
    did_release("Managed", bytes);
    state_print();
    return 0;
}
