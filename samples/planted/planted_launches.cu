/*
 * planted_launches: a GPU that waits for the host, and the twins in which it does not: see planted.h.
 */
#include <nvtx3/nvToolsExt.h>
#include <time.h>
#include <unistd.h>

#include "planted.h"

static double now_us()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* What the host does besides. */
static void use_host(int microseconds)
{
    for (double end = now_us() + microseconds; now_us() < end;)
        ;
}

/* Does what `work` does, under another name. */
__global__ void other_work(float *data, int elements)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) % elements;
    if (threadIdx.x == 0)
        data[i] += 2;
}

static void launch_pair(float *data, cudaStream_t stream)
{
    launch_work(data, 1, stream);
    other_work<<<BLOCKS_PER_US, WORK_THREADS, 0, stream>>>(data, ELEMENTS);
    CHECK(cudaGetLastError());
}

/* The host launches short kernels one by one, or all of them as one graph. */
static void bound(bool fixed)
{
    enum { PAIRS = 600 };
    cudaStream_t stream = new_stream();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    float *data = device_memory(ELEMENTS * sizeof(float));
    other_work<<<1, WORK_THREADS, 0, stream>>>(data, ELEMENTS); /* loads it */
    CHECK(cudaStreamSynchronize(stream));
    if (fixed)
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < PAIRS; i++) {
        if (!fixed)
            use_host(30);
        launch_pair(data, stream);
    }
    if (!fixed)
        return;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
    CHECK(cudaGraphLaunch(exec, stream));
}

/* One kernel for each piece of the work, for which the host does something too, or one for all. */
static void repeated(bool fixed)
{
    enum { PIECES = 4000 };
    cudaStream_t stream = new_stream();
    float *data = device_memory(ELEMENTS * sizeof(float));
    for (int i = 0; i < (fixed ? 1 : PIECES); i++) {
        use_host(4);
        work<<<fixed ? PIECES : 1, WORK_THREADS, 0, stream>>>(data, ELEMENTS);
    }
    CHECK(cudaGetLastError());
}

/* The host prepares the next work when the last has ended, or while the GPU works. */
static void host(bool fixed)
{
    enum { ROUNDS = 20 };
    cudaStream_t stream = new_stream();
    float *data = device_memory(ELEMENTS * sizeof(float));
    if (fixed)
        launch_work(data, ROUNDS * 10000, stream);
    for (int i = 0; i < ROUNDS; i++) {
        if (!fixed)
            launch_work(data, 1000, stream);
        nvtxRangePushA("preparing");
        use_host(3000);
        nvtxRangePop();
    }
}

/* The host sleeps between two kernels, or after them. */
static void gap(bool fixed)
{
    cudaStream_t stream = new_stream();
    float *data = device_memory(ELEMENTS * sizeof(float));
    launch_work(data, 20000, stream);
    if (!fixed)
        usleep(600000);
    launch_work(data, 20000, stream);
    if (fixed)
        usleep(600000);
}

/* Between two parts that use the GPU well, there is one that does not; or the host sleeps after launching all. */
static void low(bool fixed)
{
    enum { ROUNDS = 5 };
    cudaStream_t stream = new_stream();
    float *data = device_memory(ELEMENTS * sizeof(float));
    launch_work(data, 100000, stream);
    if (!fixed)
        CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < ROUNDS; i++) {
        if (!fixed)
            usleep(80000);
        launch_work(data, 1000, stream);
    }
    launch_work(data, 100000, stream);
    if (fixed)
        usleep(ROUNDS * 80000);
}

/* Ten steps of 20 ms. In step SLOW, unless it is -1, the host does something else first, so long, and the GPU works so
 * much longer; microseconds. */
static void steps(int slow, int host, int more)
{
    enum { STEPS = 10 };
    cudaStream_t stream = new_stream();
    float *data = device_memory(ELEMENTS * sizeof(float));
    for (int i = 0; i < STEPS; i++) {
        char name[20];
        snprintf(name, sizeof(name), "step %d", i);
        nvtxRangePushA(name);
        use_host(i == slow ? host : 0);
        launch_work(data, i == slow ? 20000 + more : 20000, stream);
        CHECK(cudaStreamSynchronize(stream));
        nvtxRangePop();
    }
}

/* One step takes three times as long as the others, or none does. */
static void step(bool fixed)
{
    steps(fixed ? -1 : 6, 0, 40000);
}

/* The first step prepares what the others need, or nothing has to be prepared. */
static void warmup(bool fixed)
{
    steps(fixed ? -1 : 0, 300000, 0);
}

/* Batches are loaded when they are needed, or while the GPU works. The range has the name that PyTorch gives it. */
static void loading(bool fixed)
{
    enum { BATCHES = 10 };
    cudaStream_t stream = new_stream();
    float *data = device_memory(ELEMENTS * sizeof(float));
    if (fixed)
        launch_work(data, BATCHES * 20000, stream);
    for (int i = 0; i < BATCHES; i++) {
        nvtxRangePushA("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
        use_host(5000);
        nvtxRangePop();
        if (!fixed)
            launch_work(data, 1000, stream);
    }
}

static const planted_case cases[] = {{"bound", bound},   {"repeated", repeated}, {"host", host},
                                     {"gap", gap},       {"low", low},           {"step", step},
                                     {"warmup", warmup}, {"loading", loading}};

PLANTED_MAIN(cases)
