/*
 * capture_threads: recording starts and stops again and again, while two threads launch, wait and allocate.
 *
 *     gputrace run --capture-range=cudaProfilerApi ./capture_threads
 *
 * A correct trace holds the kernels of the main thread that lie between start and stop, and none of the others of that
 * thread. Each kernel of any thread belongs to the call that launched it, and starts after that call.
 */
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <unistd.h>

#include "statement.h"

enum { ROUNDS = 20, LAUNCHES = 200, WAIT_EVERY = 50, WORKERS = 2, SETTLE_US = 20000 };

__global__ void outside()
{
}
__global__ void inside()
{
}
__global__ void worker()
{
}

static volatile bool stop;

static void launch(void (*kernel)(), cudaStream_t stream, int count)
{
    for (int i = 0; i < count; i++) {
        CHECK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(1), nullptr, 0, stream));
        if (i % WAIT_EVERY != 0)
            continue;
        void *memory;
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMalloc(&memory, 4096));
        CHECK(cudaFree(memory));
    }
    CHECK(cudaStreamSynchronize(stream));
}

static void *work(void *)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    while (!stop)
        launch(worker, stream, LAUNCHES);
    return nullptr;
}

int main()
{
    pthread_t workers[WORKERS];
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (pthread_t &thread : workers)
        pthread_create(&thread, nullptr, work, nullptr);
    for (int round = 0; round < ROUNDS; round++) {
        launch(outside, stream, LAUNCHES);
        usleep(SETTLE_US); /* the agent notices that recording has stopped */
        CHECK(cudaProfilerStart());
        launch(inside, stream, LAUNCHES);
        CHECK(cudaProfilerStop());
    }
    stop = true;
    for (pthread_t thread : workers)
        pthread_join(thread, nullptr);

    /* The number of the workers' kernels is a matter of time. */
    state_range("kernel inside", ROUNDS * LAUNCHES, ROUNDS * LAUNCHES, false, 0);
    state_range("kernel outside", 0, 0, false, 0);
    state_range("kernel worker", 1, UINT64_MAX, false, 0);
    state_range("kernels", ROUNDS * LAUNCHES + 1, UINT64_MAX, false, 0);
    state_print();
    return 0;
}
