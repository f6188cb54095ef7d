#include "tracing_loops.h"

#include <cstdint>
#include <cstdio>
#include <ctime>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

enum {
    COPY_BYTES = 4096,
    ALLOCATION_BYTES = 4096,
    DEVICE_ALLOCATION_BYTES = 1 << 20,
    GRAPH_NODES = 10,
    THREADS = 8,
    THREAD_LAUNCHES = 400,
};

__global__ void empty()
{
}

static cudaStream_t stream;
static cudaEvent_t event;
static char *host, *device, *other;
static cudaGraphExec_t graph;

static double nanoseconds()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int tell(cudaError_t result, const char *call)
{
    fprintf(stderr, "tracing_loops: %s: %s\n", call, cudaGetErrorString(result));
    return -1;
}

/* 0, or -1 after words on stderr. */
#define CHECK(call) check(call, #call)
static inline int check(cudaError_t result, const char *call)
{
    return result == cudaSuccess ? 0 : tell(result, call);
}

/* --- operations: each gives 0, or -1 --- */

static int launch()
{
    empty<<<1, 1, 0, stream>>>(); /* what fails is asked for after the block */
    return 0;
}

static int copy_to_device()
{
    return CHECK(cudaMemcpyAsync(device, host, COPY_BYTES, cudaMemcpyHostToDevice, stream));
}

static int copy_to_host()
{
    return CHECK(cudaMemcpyAsync(host, device, COPY_BYTES, cudaMemcpyDeviceToHost, stream));
}

static int copy_on_device()
{
    return CHECK(cudaMemcpyAsync(other, device, COPY_BYTES, cudaMemcpyDeviceToDevice, stream));
}

static int record_and_query()
{
    if (CHECK(cudaEventRecord(event, stream)))
        return -1;
    cudaError_t result = cudaEventQuery(event);
    return result == cudaErrorNotReady ? 0 : check(result, "cudaEventQuery");
}

static int launch_and_wait()
{
    empty<<<1, 1, 0, stream>>>();
    return CHECK(cudaStreamSynchronize(stream));
}

static int launch_graph()
{
    return CHECK(cudaGraphLaunch(graph, stream));
}

static int allocate_ordered()
{
    void *memory;
    if (CHECK(cudaMallocAsync(&memory, ALLOCATION_BYTES, stream)))
        return -1;
    return CHECK(cudaFreeAsync(memory, stream));
}

static int allocate()
{
    void *memory;
    if (CHECK(cudaMalloc(&memory, DEVICE_ALLOCATION_BYTES)))
        return -1;
    return CHECK(cudaFree(memory));
}

static int push_and_pop()
{
    nvtxRangePushA("range");
    nvtxRangePop();
    return 0;
}

/* --- eight threads --- */

/* They live on between blocks, as a program's own do: a thread's first launch costs more than any other. */
static struct worker {
    cudaStream_t stream;
    double began, ended;
    int failed;
} workers[THREADS];
static pthread_barrier_t begin, end;

static void *work(void *argument)
{
    worker *mine = (worker *)argument;
    for (;;) {
        pthread_barrier_wait(&begin);
        mine->began = nanoseconds();
        for (int i = 0; i < THREAD_LAUNCHES; i++)
            empty<<<1, 1, 0, mine->stream>>>();
        mine->ended = nanoseconds();
        mine->failed = CHECK(cudaGetLastError());
        pthread_barrier_wait(&end);
    }
}

static int start_workers()
{
    pthread_barrier_init(&begin, NULL, THREADS + 1);
    pthread_barrier_init(&end, NULL, THREADS + 1);
    for (worker &each : workers) {
        pthread_t thread;
        if (CHECK(cudaStreamCreateWithFlags(&each.stream, cudaStreamNonBlocking)))
            return -1;
        if (pthread_create(&thread, NULL, work, &each) != 0) {
            perror("tracing_loops: no thread");
            return -1;
        }
        pthread_detach(thread);
    }
    return 0;
}

/* From when the first begins to when the last ends, per launch of any of them. */
static double launch_by_threads()
{
    static int started;
    if (!started && start_workers())
        return -1;
    started = 1;
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
    double began = workers[0].began, ended = workers[0].ended;
    for (const worker &each : workers) {
        if (each.failed)
            return -1;
        began = each.began < began ? each.began : began;
        ended = each.ended > ended ? each.ended : ended;
    }
    return (ended - began) / (THREADS * THREAD_LAUNCHES);
}

/* --- all loops --- */

static const struct loop {
    const char *name;
    int operations; /* in a block */
    int kernels;    /* of an operation */
    bool cuda;
    int (*operation)();
    double (*block)(); /* instead of operations one after the other */
} loops[] = {
    {"launch", 500, 1, true, launch, NULL},
    {"copy_h2d", 200, 0, true, copy_to_device, NULL},
    {"copy_d2h", 200, 0, true, copy_to_host, NULL},
    {"copy_d2d", 200, 0, true, copy_on_device, NULL},
    {"event", 300, 0, true, record_and_query, NULL},
    {"sync", 100, 1, true, launch_and_wait, NULL},
    {"graph", 30, GRAPH_NODES, true, launch_graph, NULL},
    {"malloc_async", 300, 0, true, allocate_ordered, NULL},
    {"malloc", 20, 0, true, allocate, NULL},
    {"nvtx", 2000, 0, false, push_and_pop, NULL},
    {"threads", THREADS *THREAD_LAUNCHES, 1, true, NULL, launch_by_threads},
};

static double run_operations(const loop *which)
{
    int failed = 0;
    double began = nanoseconds();
    for (int i = 0; i < which->operations; i++)
        failed |= which->operation();
    double ended = nanoseconds();
    return failed ? -1 : (ended - began) / which->operations;
}

int tracing_loops_count(void)
{
    return sizeof(loops) / sizeof(loops[0]);
}

const char *tracing_loops_name(int which)
{
    return loops[which].name;
}

int tracing_loops_needs_cuda(int which)
{
    return loops[which].cuda;
}

int tracing_loops_kernels(int which)
{
    return loops[which].operations * loops[which].kernels;
}

int tracing_loops_start(void)
{
    return CHECK(cudaFree(NULL));
}

/* As programs that allocate all the time do: what was freed stays with the pool. */
static int keep_memory()
{
    cudaMemPool_t pool;
    uint64_t all = UINT64_MAX;
    if (CHECK(cudaDeviceGetDefaultMemPool(&pool, 0)))
        return -1;
    return CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
}

static int make_graph()
{
    cudaGraph_t captured;
    if (CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)))
        return -1;
    for (int i = 0; i < GRAPH_NODES; i++)
        empty<<<1, 1, 0, stream>>>();
    if (CHECK(cudaStreamEndCapture(stream, &captured)) || CHECK(cudaGraphInstantiate(&graph, captured, 0)))
        return -1;
    return CHECK(cudaGraphDestroy(captured));
}

int tracing_loops_prepare(void)
{
    if (CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) ||
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)) ||
        CHECK(cudaMallocHost((void **)&host, COPY_BYTES)) || CHECK(cudaMalloc((void **)&device, COPY_BYTES)) ||
        CHECK(cudaMalloc((void **)&other, COPY_BYTES)))
        return -1;
    launch(); /* loads the kernel, which is not a thing to do while a stream is captured */
    if (CHECK(cudaStreamSynchronize(stream)))
        return -1;
    return keep_memory() || make_graph() ? -1 : 0;
}

double tracing_loops_run(int which)
{
    const loop *chosen = &loops[which];
    if (chosen->cuda && CHECK(cudaDeviceSynchronize()))
        return -1;
    double ns = chosen->block ? chosen->block() : run_operations(chosen);
    if (chosen->cuda && (CHECK(cudaGetLastError()) || CHECK(cudaDeviceSynchronize())))
        return -1;
    return ns;
}
