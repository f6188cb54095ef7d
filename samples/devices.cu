/*
 * devices: work on every device that can be seen, and copies from each to the next. One device is enough to run it.
 *
 * A correct trace holds: a process row for each device with a set, a kernel and a copy to the host on its own stream;
 * where two devices can reach each other's memory, a copy PtoP from each device to the next; a counter of memory for
 * each device that rises by the same amount.
 */
#include <cuda_runtime_api.h>

#include "statement.h"

enum { DEVICES_MAX = 16, ELEMENTS = 1 << 20, THREADS = 256 };
static const size_t bytes = ELEMENTS * sizeof(unsigned);

__global__ void add_number(unsigned *data, unsigned number)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += number;
}

struct device {
    cudaStream_t stream;
    unsigned *data, *host;
};

static void device_init(device *d, int number)
{
    QUERY(cudaSetDevice(number));
    CALL(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking));
    CALL(cudaMalloc((void **)&d->data, bytes));
    CALL(cudaMallocHost((void **)&d->host, bytes));
    did_allocate("Pinned", bytes);
}

static void device_work(device *d, int number)
{
    QUERY(cudaSetDevice(number));
    CALL(cudaMemsetAsync(d->data, 0, bytes, d->stream));
    did_set(bytes);
    LAUNCH(add_number<<<ELEMENTS / THREADS, THREADS, 0, d->stream>>>(d->data, (unsigned)number + 1));
    CALL(cudaMemcpyAsync(d->host, d->data, bytes, cudaMemcpyDeviceToHost, d->stream));
    did_copy("DtoH", bytes);
    CALL(cudaStreamSynchronize(d->stream));
    did_wait("Stream Sync");
}

/* Copies from FROM to TO where they can reach each other; a copy through the host would be two copies in the trace. */
static void device_copy(device *devices, int from, int to)
{
    int reach = 0;
    QUERY(cudaDeviceCanAccessPeer(&reach, from, to));
    if (!reach)
        return;
    QUERY(cudaSetDevice(from));
    CALL(cudaDeviceEnablePeerAccess(to, 0));
    CALL(cudaMemcpyPeerAsync(devices[to].data, to, devices[from].data, from, bytes, devices[from].stream));
    did_copy("PtoP", bytes);
    CALL(cudaStreamSynchronize(devices[from].stream));
    did_wait("Stream Sync");
}

static void device_release(device *d, int number)
{
    QUERY(cudaSetDevice(number));
    CALL(cudaFreeHost(d->host));
    did_release("Pinned", bytes);
    CALL(cudaFree(d->data));
    CALL(cudaStreamDestroy(d->stream));
}

int main()
{
    device devices[DEVICES_MAX];
    int count = 0;
    CHECK(cudaGetDeviceCount(&count)); /* starts CUDA, and the tracer with it */
    if (count > DEVICES_MAX)
        count = DEVICES_MAX;
    for (int i = 0; i < count; i++)
        device_init(&devices[i], i);
    for (int i = 0; i < count; i++)
        device_work(&devices[i], i);
    for (int i = 0; count > 1 && i < count; i++)
        device_copy(devices, i, (i + 1) % count);
    for (int i = 0; i < count; i++)
        device_release(&devices[i], i);
    printf("%d device%s\n", count, count == 1 ? "" : "s");

    /* Counters are a device's own, so the peak is that of any one of them. */
    printf("expect memory Device allocations %d bytes %zu releases %d peak %zu end 0\n", count, (size_t)count * bytes,
           count, bytes);
    state_count("streams", (uint64_t)count);
    state_count("devices", (uint64_t)count);
    state_count("threads", 1);
    state_print();
    return 0;
}
