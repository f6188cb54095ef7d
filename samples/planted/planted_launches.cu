/*
 * planted_launches: a GPU that waits for the host, and the twins in which it does not: see planted.h.
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
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

/* Waits for something that is not the GPU, such as answers of servers: COUNT of at most 32, for each so long, one after
 * another or for all at once. */
static void *await_one(void *microseconds)
{
    usleep((useconds_t)(size_t)microseconds);
    return NULL;
}

static void await_all(int count, int microseconds, bool at_once)
{
    pthread_t threads[32];
    void *length = (void *)(size_t)microseconds;
    for (int i = 0; i < count; i++) {
        if (at_once)
            CHECK(pthread_create(&threads[i], NULL, await_one, length));
        else
            await_one(length);
    }
    for (int i = 0; at_once && i < count; i++)
        CHECK(pthread_join(threads[i], NULL));
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
    CHECK(cudaDeviceSynchronize()); /* time counts from here on: a program makes its graph once */
    CHECK(cudaGraphLaunch(exec, stream));
}

/* The host does something and launches a kernel for each piece of the work, or launches graphs of 100 pieces. */
static void repeated(bool fixed)
{
    enum { PIECES = 4000, TOGETHER = 100 };
    cudaStream_t stream = new_stream();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    float *data = device_memory(ELEMENTS * sizeof(float));
    if (fixed)
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < (fixed ? TOGETHER : PIECES); i++) {
        if (!fixed)
            use_host(4);
        work<<<1, WORK_THREADS, 0, stream>>>(data, ELEMENTS);
    }
    CHECK(cudaGetLastError());
    if (!fixed)
        return;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
    for (int i = 0; i < PIECES / TOGETHER; i++)
        CHECK(cudaGraphLaunch(exec, stream));
}

/* The host prepares the next work when the last has ended, or while the GPU works. */
static void host(bool fixed)
{
    enum { ROUNDS = 20 };
    cudaStream_t stream = new_stream();
    float *data = device_memory(ELEMENTS * sizeof(float));
    for (int i = 0; i < ROUNDS; i++) {
        launch_work(data, 3500, stream);
        if (!fixed)
            CHECK(cudaStreamSynchronize(stream));
        nvtxRangePushA("preparing");
        use_host(3000);
        nvtxRangePop();
        if (fixed)
            CHECK(cudaStreamSynchronize(stream));
    }
}

/* Between two kernels the host waits for 30 things one after another, or for all at once while the first kernel runs.
 */
static void gap(bool fixed)
{
    cudaStream_t stream = new_stream();
    float *data = device_memory(ELEMENTS * sizeof(float));
    launch_work(data, 20000, stream);
    await_all(30, 20000, fixed);
    launch_work(data, 20000, stream);
}

/* Between two parts that use the GPU well, there is one that does not, as the host waits for something before each of
 * its kernels; or it waits for all at once, while the first part runs. */
static void low(bool fixed)
{
    enum { ROUNDS = 5 };
    cudaStream_t stream = new_stream();
    float *data = device_memory(ELEMENTS * sizeof(float));
    launch_work(data, 100000, stream);
    if (!fixed)
        CHECK(cudaStreamSynchronize(stream));
    if (fixed)
        await_all(ROUNDS, 80000, true);
    for (int i = 0; i < ROUNDS; i++) {
        if (!fixed)
            await_all(1, 80000, false);
        launch_work(data, 1000, stream);
    }
    launch_work(data, 100000, stream);
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
    for (int i = 0; i < BATCHES; i++) {
        launch_work(data, 6000, stream);
        if (!fixed)
            CHECK(cudaStreamSynchronize(stream));
        nvtxRangePushA("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
        use_host(5000);
        nvtxRangePop();
        if (fixed)
            CHECK(cudaStreamSynchronize(stream));
    }
}

static const planted_case cases[] = {{"bound", bound},   {"repeated", repeated}, {"host", host},
                                     {"gap", gap},       {"low", low},           {"step", step},
                                     {"warmup", warmup}, {"loading", loading}};

PLANTED_MAIN(cases)
