/*
 * threads: eight host threads, each with a stream and NVTX ranges of its own, all at once.
 *
 * A correct trace holds: eight rows of threads named "worker 0" … "worker 7", each with one range "work" around its
 * "step" ranges, all of its API calls on it; eight rows of streams, named "stream of worker 0" …, below a GPU named
 * "the workers' GPU"; and flows that lead from a thread's calls to its own stream alone.
 */
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "statement.h"

enum { WORKERS = 8, STEPS = 20, ELEMENTS = 1 << 14, THREADS = 128 };
static const size_t bytes = ELEMENTS * sizeof(int);
static pthread_barrier_t all_have_memory;

__global__ void increment(int *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

static void range_push(const char *name)
{
    nvtxRangePushA(name);
    did_range(name);
}

static void step(int *device, int *host, cudaStream_t stream)
{
    range_push("step");
    CALL(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
    did_copy("HtoD", bytes);
    LAUNCH(increment<<<ELEMENTS / THREADS, THREADS, 0, stream>>>(device));
    CALL(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
    did_copy("DtoH", bytes);
    CALL(cudaStreamSynchronize(stream));
    did_wait("Stream Sync");
    nvtxRangePop();
}

static void *work(void *argument)
{
    char name[32];
    snprintf(name, sizeof(name), "worker %d", *(int *)argument);
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), name);
    did_name_row(name);

    range_push("work");
    int *device, *host;
    cudaStream_t stream;
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    char stream_name[48];
    snprintf(stream_name, sizeof(stream_name), "stream of %s", name);
    nvtxNameCudaStreamA(stream, stream_name);
    did_name_row(stream_name);
    CALL(cudaMalloc((void **)&device, bytes));
    did_allocate("Device", bytes);
    CALL(cudaMallocHost((void **)&host, bytes));
    did_allocate("Pinned", bytes);
    memset(host, 0, bytes);
    pthread_barrier_wait(&all_have_memory); /* so that the most in use at once is known */
    for (int i = 0; i < STEPS; i++)
        step(device, host, stream);
    CALL(cudaFreeHost(host));
    did_release("Pinned", bytes);
    CALL(cudaFree(device));
    did_release("Device", bytes);
    CALL(cudaStreamDestroy(stream));
    nvtxRangePop();
    return nullptr;
}

int main()
{
    pthread_t workers[WORKERS];
    int numbers[WORKERS];
    pthread_barrier_init(&all_have_memory, nullptr, WORKERS);
    CHECK(cudaSetDevice(0)); /* starts CUDA, and the tracer with it, before the threads race for it */
    nvtxNameCudaDeviceA(0, "the workers' GPU");
    for (int i = 0; i < WORKERS; i++) {
        numbers[i] = i;
        if (pthread_create(&workers[i], nullptr, work, &numbers[i]) != 0) {
            perror("cannot start a thread");
            return 1;
        }
    }
    for (pthread_t worker : workers)
        pthread_join(worker, nullptr);
    CALL(cudaDeviceSynchronize());
    did_wait("Context Sync");
    printf("%d threads made %d steps each\n", (int)WORKERS, (int)STEPS);
    state_count("streams", WORKERS);
    state_count("devices", 1);
    state_count("threads", WORKERS + 1); /* and the main thread */
    state_print();
    return 0;
}
