/*
 * leaks: allocates memory of every kind and frees some of it. For `gputrace run --plugin leaks`.
 *
 *     leaks             leaves memory allocated, and prints what: a line for each place
 *     leaks clean       frees all
 *     leaks reset       leaves it to cudaDeviceReset, which takes along what belongs to the context
 *
 *     expect left KIND BYTES COUNT FUNCTION     that function left COUNT allocations of KIND, of BYTES in all
 *     expect left-in-all BYTES COUNT
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>

#include "statement.h"

#define PLACE __attribute__((noinline)) static /* a function that can be found in a call stack */

enum { PAGE = 4096, THREADS = 4, ROUNDS = 200 };

static struct {
    bool clean;
    uint64_t bytes, count;
} left;

static void leaves(const char *kind, uint64_t bytes, uint64_t count, const char *function)
{
    printf("expect left %s %llu %llu %s\n", kind, (unsigned long long)bytes, (unsigned long long)count, function);
    left.bytes += bytes;
    left.count += count;
}

/* Three from one place, of which one is freed. */
PLACE void take_device()
{
    void *memory[3];
    for (void *&each : memory)
        CHECK(cudaMalloc(&each, 3 << 20));
    CHECK(cudaFree(memory[1]));
    if (left.clean) {
        CHECK(cudaFree(memory[0]));
        CHECK(cudaFree(memory[2]));
    } else {
        leaves("device", 2 * (3 << 20), 2, "take_device");
    }
}

PLACE void take_pitched()
{
    void *memory;
    size_t pitch;
    CHECK(cudaMallocPitch(&memory, &pitch, 1000, 100));
    if (left.clean)
        CHECK(cudaFree(memory));
    else
        leaves("device", pitch * 100, 1, "take_pitched");
}

PLACE void take_pinned()
{
    void *memory;
    CHECK(cudaMallocHost(&memory, 1 << 16));
    if (left.clean)
        CHECK(cudaFreeHost(memory));
    else
        leaves("pinned", 1 << 16, 1, "take_pinned");
}

PLACE void take_managed()
{
    void *memory;
    CHECK(cudaMallocManaged(&memory, 5 << 20, cudaMemAttachGlobal));
    if (left.clean)
        CHECK(cudaFree(memory));
    else
        leaves("managed", 5 << 20, 1, "take_managed");
}

PLACE void take_registered()
{
    void *memory = aligned_alloc(PAGE, 2 * PAGE);
    CHECK(cudaHostRegister(memory, 2 * PAGE, cudaHostRegisterDefault));
    if (left.clean) {
        CHECK(cudaHostUnregister(memory));
        free(memory);
    } else {
        leaves("registered", 2 * PAGE, 1, "take_registered");
    }
}

PLACE void take_array()
{
    cudaChannelFormatDesc texel = {8, 8, 8, 8, cudaChannelFormatKindUnsigned};
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &texel, 64, 32, 0));
    if (left.clean)
        CHECK(cudaFreeArray(array));
    else
        leaves("array", 4 * 64 * 32, 1, "take_array");
}

PLACE void take_in_stream(cudaStream_t stream)
{
    void *memory[2];
    for (void *&each : memory)
        CHECK(cudaMallocAsync(&each, 1 << 20, stream));
    CHECK(cudaFreeAsync(memory[0], stream));
    if (left.clean)
        CHECK(cudaFreeAsync(memory[1], stream));
    else
        leaves("stream-ordered", 1 << 20, 1, "take_in_stream");
    CHECK(cudaStreamSynchronize(stream));
}

/* Its handle is released, but it stays mapped, and so allocated. */
PLACE void take_physical()
{
    CUmemAllocationProp properties = {};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    size_t bytes;
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CHECK(cuMemGetAllocationGranularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemCreate(&handle, bytes, &properties, 0));
    CHECK(cuMemAddressReserve(&address, bytes, 0, 0, 0));
    CHECK(cuMemMap(address, bytes, 0, handle, 0));
    CHECK(cuMemRelease(handle));
    if (left.clean) {
        CHECK(cuMemUnmap(address, bytes));
        CHECK(cuMemAddressFree(address, bytes));
    } else {
        leaves("physical", bytes, 1, "take_physical");
    }
}

/* Threads that are given each other's addresses again; each keeps one. */
PLACE void *churn(void *)
{
    void *memory;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(cudaMalloc(&memory, 1 << 12));
        CHECK(cudaFree(memory));
    }
    CHECK(cudaMalloc(&memory, 1 << 12));
    if (left.clean)
        CHECK(cudaFree(memory));
    return nullptr;
}

static void churn_all()
{
    pthread_t threads[THREADS];
    for (pthread_t &thread : threads)
        if (pthread_create(&thread, nullptr, churn, nullptr) != 0)
            exit(1);
    for (pthread_t &thread : threads)
        pthread_join(thread, nullptr);
    if (!left.clean)
        leaves("device", THREADS << 12, THREADS, "churn");
}

/* What fails allocates nothing, and what frees nothing frees nothing. */
static void fail()
{
    void *memory = nullptr;
    if (cudaMalloc(&memory, (size_t)1 << 46) == cudaSuccess || cudaFree((void *)0x10) == cudaSuccess)
        exit(1);
    (void)cudaGetLastError();
    CHECK(cudaFree(nullptr));
}

int main(int argc, char **argv)
{
    bool reset = argc > 1 && strcmp(argv[1], "reset") == 0;
    left.clean = argc > 1 && strcmp(argv[1], "clean") == 0;
    cudaStream_t stream;
    CHECK(cudaSetDevice(0)); /* starts CUDA, and the tracer with it */
    CHECK(cudaStreamCreate(&stream));
    take_device();
    take_pitched();
    take_pinned();
    take_managed();
    take_registered();
    take_array();
    if (!reset) {
        take_in_stream(stream);
        take_physical();
    }
    churn_all();
    fail();
    CHECK(cudaStreamDestroy(stream));
    if (reset)
        CHECK(cudaDeviceReset());
    printf("expect left-in-all %llu %llu\n", (unsigned long long)left.bytes, (unsigned long long)left.count);
    return 0;
}
