/*
 * memory: every way to get memory from CUDA, and copies between them.
 *
 * A correct trace holds: one counter for each kind of memory (Device, Pinned, Managed, Registered, Array, Pool) that
 * rises and falls by the bytes below and ends at 0; one cudaMalloc that failed, with its error as return value, and no
 * step of a counter for it; and the copies named by where they come from and go to.
 */
#include <cuda_runtime_api.h>

#include "statement.h"

enum { WIDTH = 1000, HEIGHT = 64, THREADS = 256, PAGE = 4096, ELEMENTS = 1 << 18 };
static const size_t bytes = ELEMENTS * sizeof(unsigned);

__global__ void touch(unsigned *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

static void fill(unsigned char *data, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)(i * 31 + seed);
}

static void must_equal(const void *a, const void *b, size_t size, const char *what)
{
    if (memcmp(a, b, size) != 0) {
        fprintf(stderr, "%s did not come back as it went\n", what);
        exit(1);
    }
}

/* Plain device memory, and copies to and from host memory that CUDA knows nothing of. */
static void device_memory(unsigned char *out, unsigned char *in)
{
    unsigned *data, *twin;
    CALL(cudaMalloc((void **)&data, bytes));
    did_allocate("Device", bytes);
    CALL(cudaMalloc((void **)&twin, bytes));
    did_allocate("Device", bytes);
    fill(out, bytes, 1);
    CALL(cudaMemcpy(data, out, bytes, cudaMemcpyHostToDevice));
    did_copy("HtoD", bytes);
    CALL(cudaMemcpy(twin, data, bytes, cudaMemcpyDeviceToDevice));
    did_copy("DtoD", bytes);
    CALL(cudaMemcpy(in, twin, bytes, cudaMemcpyDeviceToHost));
    did_copy("DtoH", bytes);
    must_equal(in, out, bytes, "device memory");
    LAUNCH(touch<<<ELEMENTS / THREADS, THREADS>>>(data));
    CALL(cudaFree(twin));
    did_release("Device", bytes);
    CALL(cudaFree(data));
    did_release("Device", bytes);
}

/* Rows that the driver has padded: what is in use is pitch times height. */
static void pitched_memory(unsigned char *out, unsigned char *in)
{
    void *data;
    size_t pitch;
    CALL(cudaMallocPitch(&data, &pitch, WIDTH, HEIGHT));
    did_allocate("Device", pitch * HEIGHT);
    fill(out, WIDTH * HEIGHT, 2);
    CALL(cudaMemcpy2D(data, pitch, out, WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    did_copy("HtoD", WIDTH * HEIGHT);
    CALL(cudaMemcpy2D(in, WIDTH, data, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToHost));
    did_copy("DtoH", WIDTH * HEIGHT);
    must_equal(in, out, WIDTH * HEIGHT, "pitched memory");
    CALL(cudaFree(data));
    did_release("Device", pitch * HEIGHT);
}

static void array_memory(unsigned char *out, unsigned char *in)
{
    enum { SIDE = 256 };
    cudaChannelFormatDesc texel = {8, 8, 8, 8, cudaChannelFormatKindUnsigned};
    size_t row = SIDE * 4, size = row * SIDE;
    cudaArray_t array;
    CALL(cudaMallocArray(&array, &texel, SIDE, SIDE, 0));
    did_allocate("Array", size);
    fill(out, size, 3);
    CALL(cudaMemcpy2DToArray(array, 0, 0, out, row, row, SIDE, cudaMemcpyHostToDevice));
    did_copy("HtoA", size);
    CALL(cudaMemcpy2DFromArray(in, row, array, 0, 0, row, SIDE, cudaMemcpyDeviceToHost));
    did_copy("AtoH", size);
    must_equal(in, out, size, "an array");
    CALL(cudaFreeArray(array));
    did_release("Array", size);
}

static void managed_memory()
{
    unsigned *data;
    CALL(cudaMallocManaged((void **)&data, bytes, cudaMemAttachGlobal));
    did_allocate("Managed", bytes);
    CALL(cudaMemset(data, 0, bytes));
    did_set(bytes);
    LAUNCH(touch<<<ELEMENTS / THREADS, THREADS>>>(data));
    CALL(cudaDeviceSynchronize());
    did_wait("Context Sync");
    CALL(cudaFree(data));
    did_release("Managed", bytes);
}

/* Host memory that CUDA allocates, and host memory of the program's own that is registered. */
static void host_memory(unsigned char *own)
{
    unsigned char *pinned;
    CALL(cudaHostAlloc((void **)&pinned, bytes, cudaHostAllocDefault));
    did_allocate("Pinned", bytes);
    CALL(cudaHostRegister(own, bytes, cudaHostRegisterDefault));
    did_allocate("Registered", bytes);
    void *data;
    CALL(cudaMalloc(&data, bytes));
    did_allocate("Device", bytes);
    fill(own, bytes, 4);
    CALL(cudaMemcpyAsync(data, own, bytes, cudaMemcpyHostToDevice, nullptr));
    did_copy("HtoD", bytes);
    CALL(cudaMemcpyAsync(pinned, data, bytes, cudaMemcpyDeviceToHost, nullptr));
    did_copy("DtoH", bytes);
    CALL(cudaStreamSynchronize(nullptr));
    did_wait("Stream Sync");
    must_equal(pinned, own, bytes, "registered memory");
    CALL(cudaFree(data));
    did_release("Device", bytes);
    CALL(cudaHostUnregister(own));
    did_release("Registered", bytes);
    CALL(cudaFreeHost(pinned));
    did_release("Pinned", bytes);
}

/* Memory in the order of a stream: from the device's own pool, and from one of ours. */
static void stream_ordered_memory()
{
    cudaStream_t stream;
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = 0;
    cudaMemPool_t pool;
    CALL(cudaMemPoolCreate(&pool, &properties));

    unsigned *ours, *devices;
    CALL(cudaMallocFromPoolAsync((void **)&ours, bytes, pool, stream));
    did_allocate("Pool", bytes);
    CALL(cudaMallocAsync((void **)&devices, bytes / 2, stream));
    did_allocate("Pool", bytes / 2);
    CALL(cudaMemsetAsync(ours, 0, bytes, stream));
    did_set(bytes);
    LAUNCH(touch<<<ELEMENTS / THREADS, THREADS, 0, stream>>>(ours));
    CALL(cudaFreeAsync(devices, stream));
    did_release("Pool", bytes / 2);
    CALL(cudaFreeAsync(ours, stream));
    did_release("Pool", bytes);
    CALL(cudaStreamSynchronize(stream));
    did_wait("Stream Sync");

    CALL(cudaMemPoolDestroy(pool));
    CALL(cudaStreamDestroy(stream));
}

static void no_memory()
{
    void *data = nullptr;
    CALL_FAILS(cudaErrorMemoryAllocation, cudaMalloc(&data, (size_t)1 << 46));
    if (cudaGetLastError() != cudaErrorMemoryAllocation) /* which also clears it */
        exit(1);
}

int main()
{
    CHECK(cudaSetDevice(0)); /* starts CUDA, and the tracer with it */
    unsigned char *out = (unsigned char *)aligned_alloc(PAGE, bytes);
    unsigned char *in = (unsigned char *)aligned_alloc(PAGE, bytes);
    if (!out || !in) {
        fprintf(stderr, "no memory\n");
        return 1;
    }
    device_memory(out, in);
    pitched_memory(out, in);
    array_memory(out, in);
    managed_memory();
    host_memory(out);
    stream_ordered_memory();
    no_memory();
    free(in);
    free(out);
    printf("all copies came back as they went\n");
    state_count("devices", 1);
    state_count("threads", 1);
    state_print();
    return 0;
}
