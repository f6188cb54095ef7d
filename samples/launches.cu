/*
 * launches: every way to start work on the GPU from the runtime: <<< >>>, cudaLaunchKernel, cudaLaunchKernelExC with
 * attributes, a cooperative launch, a host function, and a batch of copies.
 *
 * A correct trace holds a kernel for each launch, and a flow to it from the call that was used. Built a second time
 * as launches_per_thread with `-default-stream per-thread`: the calls are then other functions inside CUDA (…_ptsz),
 * and the trace still calls them by the names that are written here.
 */
#include <cuda_runtime_api.h>

#include "statement.h"

enum { THREADS = 128, BLOCKS = 16, ELEMENTS = THREADS * BLOCKS, BATCH = 6 };
static const size_t bytes = ELEMENTS * sizeof(int);

__global__ void by_brackets(int *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

__global__ void by_call(int *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 10;
}

__global__ void by_config(int *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 100;
}

__global__ void cooperating(int *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1000;
}

template <int FACTOR> __global__ void from_template(int *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += FACTOR;
}

static void launch_brackets(int *data, cudaStream_t stream)
{
    LAUNCH(by_brackets<<<BLOCKS, THREADS>>>(data)); /* the default stream of this build */
    LAUNCH(by_brackets<<<BLOCKS, THREADS, 1024, stream>>>(data));
    LAUNCH(from_template<7><<<BLOCKS, THREADS, 0, stream>>>(data));
    LAUNCH(from_template<8><<<BLOCKS, THREADS, 0, stream>>>(data));
}

static void launch_calls(int *data, cudaStream_t stream)
{
    void *args[] = {&data};
    CALL(cudaLaunchKernel((const void *)by_call, dim3(BLOCKS), dim3(THREADS), args, 0, stream));
    did_kernels("by_call", 1);

    int cooperative = 0;
    CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
    if (cooperative) {
        CALL(cudaLaunchCooperativeKernel((const void *)cooperating, dim3(BLOCKS), dim3(THREADS), args, 0, stream));
        did_kernels("cooperating", 1);
    }
}

/* The second launch may begin before the first has ended, where the device can do that. Neither needs the other's data
 * whole: both only add. */
static void launch_config(int *data, cudaStream_t stream)
{
    int major = 0;
    CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributePriority;
    attributes[0].val.priority = 0;
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(BLOCKS);
    config.blockDim = dim3(THREADS);
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = major >= 9 ? 2 : 1;
    void *args[] = {&data};
    for (int i = 0; i < 2; i++) {
        CALL(cudaLaunchKernelExC(&config, (const void *)by_config, args));
        did_kernels("by_config", 1);
    }
}

static void host_function(void *called)
{
    __atomic_fetch_add((int *)called, 1, __ATOMIC_RELAXED);
}

static void copy_batch(int *device, int *host, cudaStream_t stream)
{
#if CUDART_VERSION >= 13000
    const size_t part = bytes / BATCH / 64 * 64;
    void *to[BATCH];
    const void *from[BATCH];
    size_t sizes[BATCH], first_of_attributes = 0;
    for (int i = 0; i < BATCH; i++) {
        to[i] = (char *)device + (size_t)i * part;
        from[i] = (char *)host + (size_t)i * part;
        sizes[i] = part;
    }
    cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    CALL(cudaMemcpyBatchAsync(to, from, sizes, BATCH, &attributes, &first_of_attributes, 1, stream));
    /* CUDA may join copies of one batch. */
    state_range("memcpy HtoD", 1, BATCH, true, BATCH * part);
    state_range("memcpys", 1, BATCH, false, 0);
#else
    (void)device, (void)host, (void)stream;
#endif
}

int main()
{
    CHECK(cudaSetDevice(0)); /* starts CUDA, and the tracer with it */
    cudaStream_t stream;
    int *device, *host, called = 0;
    CALL(cudaStreamCreate(&stream));
    CALL(cudaMalloc((void **)&device, bytes));
    did_allocate("Device", bytes);
    CALL(cudaMallocHost((void **)&host, bytes));
    did_allocate("Pinned", bytes);
    memset(host, 0, bytes);
    CALL(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    did_copy("HtoD", bytes);

    launch_brackets(device, stream);
    launch_calls(device, stream);
    launch_config(device, stream);
    CALL(cudaLaunchHostFunc(stream, host_function, &called));
    copy_batch(device, host, stream);
    CALL(cudaStreamSynchronize(stream));
    did_wait("Stream Sync");
    CALL(cudaDeviceSynchronize());
    did_wait("Context Sync");
    if (called != 1) {
        fprintf(stderr, "the host function was called %d times\n", called);
        return 1;
    }

    CALL(cudaFreeHost(host));
    did_release("Pinned", bytes);
    CALL(cudaFree(device));
    did_release("Device", bytes);
    CALL(cudaStreamDestroy(stream));
    printf("every way to launch\n");
    state_count("devices", 1);
    state_count("threads", 1);
    state_print();
    return 0;
}
