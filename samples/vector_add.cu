/*
 * vector_add: c = a + b in chunks, each copied in, added and copied out by one of four streams, so that copies and
 * kernels overlap. The sample to look at first.
 *
 * A correct trace holds: a row for the thread with the NVTX ranges "prepare", "add chunks" (and in it one "chunk" for
 * each), "wait" and "check"; a row for each of the 4 streams with 8 copies HtoD, 4 kernels vector_add and 4 copies
 * DtoH; 3 sets on the default stream; a flow from every call that starts work to that work; on the GPU rows the range
 * each chunk was launched in; and a counter of device memory that rises in 3 steps to 24 MiB and falls to 0 again.
 */
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include "statement.h"

enum { ELEMENTS = 1 << 21, STREAMS = 4, CHUNKS = 16, CHUNK = ELEMENTS / CHUNKS, THREADS = 256 };
static const size_t bytes = ELEMENTS * sizeof(float), chunk_bytes = CHUNK * sizeof(float);

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

/* A vector on the host, in pinned memory so that copies are asynchronous, and its twin on the device. */
struct vector {
    float *host, *device;
};

static vector vector_new()
{
    vector v;
    CALL(cudaMallocHost((void **)&v.host, bytes));
    did_allocate("Pinned", bytes);
    CALL(cudaMalloc((void **)&v.device, bytes));
    did_allocate("Device", bytes);
    CALL(cudaMemset(v.device, 0, bytes));
    did_set(bytes);
    return v;
}

static void vector_free(vector v)
{
    CALL(cudaFree(v.device));
    did_release("Device", bytes);
    CALL(cudaFreeHost(v.host));
    did_release("Pinned", bytes);
}

static void range_push(const char *name)
{
    nvtxRangePushA(name);
    did_range(name);
}

static void add_chunk(vector a, vector b, vector c, int first, cudaStream_t stream)
{
    range_push("chunk");
    CALL(cudaMemcpyAsync(a.device + first, a.host + first, chunk_bytes, cudaMemcpyHostToDevice, stream));
    CALL(cudaMemcpyAsync(b.device + first, b.host + first, chunk_bytes, cudaMemcpyHostToDevice, stream));
    did_copies("HtoD", 2, 2 * chunk_bytes);
    LAUNCH(vector_add<<<CHUNK / THREADS, THREADS, 0, stream>>>(a.device + first, b.device + first, c.device + first,
                                                               CHUNK));
    CALL(cudaMemcpyAsync(c.host + first, c.device + first, chunk_bytes, cudaMemcpyDeviceToHost, stream));
    did_copy("DtoH", chunk_bytes);
    nvtxRangePop();
}

/* The simulated GPU of the tests copies, but does not compute. */
static bool gpu_computes()
{
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    printf("on %s\n", device.name);
    return strncmp(device.name, "Simulated", 9) != 0;
}

static void check(vector c)
{
    for (int i = 0; i < ELEMENTS; i++) {
        if (c.host[i] != 3.0f * (float)(i % 1000)) {
            fprintf(stderr, "element %d is %g, not %g\n", i, c.host[i], 3.0 * (i % 1000));
            exit(1);
        }
    }
    printf("%d sums are right\n", (int)ELEMENTS);
}

int main()
{
    bool computes = gpu_computes();

    range_push("prepare");
    vector a = vector_new(), b = vector_new(), c = vector_new();
    for (int i = 0; i < ELEMENTS; i++) {
        a.host[i] = (float)(i % 1000);
        b.host[i] = 2.0f * (float)(i % 1000);
        c.host[i] = -1.0f;
    }
    cudaStream_t streams[STREAMS];
    for (cudaStream_t &stream : streams)
        CALL(cudaStreamCreate(&stream));
    nvtxRangePop();

    range_push("add chunks");
    for (int i = 0; i < CHUNKS; i++)
        add_chunk(a, b, c, i * CHUNK, streams[i % STREAMS]);
    nvtxRangePop();

    range_push("wait");
    CALL(cudaDeviceSynchronize());
    did_wait("Context Sync");
    nvtxRangePop();

    range_push("check");
    if (computes)
        check(c);
    nvtxRangePop();

    for (cudaStream_t stream : streams)
        CALL(cudaStreamDestroy(stream));
    vector_free(a);
    vector_free(b);
    vector_free(c);

    state_count("streams", STREAMS + 1);
    state_count("devices", 1);
    state_count("threads", 1);
    state_print();
    return 0;
}
