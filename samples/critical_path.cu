/*
 * critical_path: scenes of which it is known what decides how long they take, for the report's section critical-path.
 *
 *     critical_path SCENE [OPERATION [MS]]
 *
 * SCENE is one of those below. OPERATION is the name of a kernel of it, or "host" for what the host does: it takes MS
 * (10) milliseconds longer, once. Prints how long the scene took; what comes before and after is not counted.
 *
 * A kernel takes its time by the GPU's clock. The simulated GPU computes nothing: there the size of the grid does it.
 *
 * A correct trace holds the kernels of the scene, each with its call.
 */
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <time.h>

#include "statement.h"

__device__ static void spin(long long ns)
{
    long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < ns);
}

#define KERNEL(name)                          \
    __global__ static void name(long long ns) \
    {                                         \
        spin(ns);                             \
    }
KERNEL(longer)
KERNEL(shorter)
KERNEL(joining)
KERNEL(root)

static const struct work {
    const char *name;
    void (*kernel)(long long ns);
} works[] = {{"longer", longer}, {"shorter", shorter}, {"joining", joining}, {"root", root}};

static const char *lengthened = ""; /* the operation that takes longer; none once it has */
static double more = 10;            /* ms */
static bool simulated;

static double now_ms()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double time_of(const char *name, double ms)
{
    if (strcmp(lengthened, name) != 0)
        return ms;
    lengthened = "";
    return ms + more;
}

/* 800 ns for each wave of blocks, which fills 132 multiprocessors. */
static unsigned blocks_for(double ms)
{
    return simulated ? (unsigned)(ms * 1e6 / 800 * 132 * 2) : 1;
}

static void run(const char *name, double ms, cudaStream_t stream)
{
    ms = time_of(name, ms);
    for (const work &one : works)
        if (strcmp(one.name, name) == 0) {
            one.kernel<<<blocks_for(ms), simulated ? 1024 : 1, 0, stream>>>((long long)(ms * 1e6));
            CHECK(cudaGetLastError());
            state_count("api cudaLaunchKernel", 1);
            did_kernels(name, 1);
        }
}

static void host(double ms)
{
    nvtxRangePushA("host");
    double end = now_ms() + time_of("host", ms);
    while (now_ms() < end)
        ;
    nvtxRangePop();
}

static cudaStream_t stream_new()
{
    cudaStream_t stream;
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static void wait_for(cudaStream_t waiting, cudaStream_t stream)
{
    cudaEvent_t event;
    CALL(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CALL(cudaEventRecord(event, stream));
    CALL(cudaStreamWaitEvent(waiting, event, 0));
    CALL(cudaEventDestroy(event));
}

/* A third stream waits for two. */
static void events(cudaStream_t *streams)
{
    run("longer", 30, streams[0]);
    run("shorter", 8, streams[1]);
    wait_for(streams[2], streams[0]);
    wait_for(streams[2], streams[1]);
    run("joining", 5, streams[2]);
    CALL(cudaStreamSynchronize(streams[2]));
}

/* The host waits for each kernel; another stream does something beside. */
static void loop(cudaStream_t *streams)
{
    for (int i = 0; i < 4; i++) {
        run("longer", 6, streams[0]);
        run("shorter", 2, streams[1]);
        CALL(cudaStreamSynchronize(streams[0]));
        host(2);
    }
    CALL(cudaDeviceSynchronize());
}

/* The host takes longer than the GPU. */
static void overlap(cudaStream_t *streams)
{
    run("shorter", 5, streams[0]);
    host(25);
    run("joining", 3, streams[0]);
    CALL(cudaStreamSynchronize(streams[0]));
}

/* The legacy default stream waits for all others. */
static void barrier(cudaStream_t *)
{
    cudaStream_t a, b;
    CALL(cudaStreamCreate(&a));
    CALL(cudaStreamCreate(&b));
    run("longer", 25, a);
    run("shorter", 5, b);
    run("joining", 4, nullptr);
    cudaEvent_t event;
    CALL(cudaEventCreate(&event));
    CALL(cudaEventRecord(event, nullptr));
    CALL(cudaEventSynchronize(event));
    CALL(cudaEventDestroy(event));
    CALL(cudaStreamDestroy(a));
    CALL(cudaStreamDestroy(b));
}

/* Branches of a graph. */
static void graph(cudaStream_t *streams)
{
    cudaGraph_t captured;
    cudaGraphExec_t executable;
    CALL(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    run("root", 3, streams[0]);
    wait_for(streams[1], streams[0]);
    run("longer", 25, streams[0]);
    run("shorter", 5, streams[1]);
    wait_for(streams[0], streams[1]);
    run("joining", 4, streams[0]);
    CALL(cudaStreamEndCapture(streams[0], &captured));
    CALL(cudaGraphInstantiate(&executable, captured, 0));
    CALL(cudaGraphLaunch(executable, streams[0]));
    CALL(cudaStreamSynchronize(streams[0]));
    CALL(cudaGraphExecDestroy(executable));
    CALL(cudaGraphDestroy(captured));
}

static void *other_thread(void *argument)
{
    cudaStream_t *streams = (cudaStream_t *)argument;
    for (int i = 0; i < 3; i++) {
        run("shorter", 2, streams[1]);
        CALL(cudaStreamSynchronize(streams[1]));
    }
    return nullptr;
}

/* Two threads with streams of their own. */
static void threads(cudaStream_t *streams)
{
    pthread_t thread;
    pthread_create(&thread, nullptr, other_thread, streams);
    for (int i = 0; i < 3; i++) {
        run("longer", 10, streams[0]);
        CALL(cudaStreamSynchronize(streams[0]));
    }
    pthread_join(thread, nullptr);
    run("joining", 2, streams[0]);
    CALL(cudaStreamSynchronize(streams[0]));
}

static const struct scene {
    const char *name;
    void (*play)(cudaStream_t *streams);
} scenes[] = {{"events", events},   {"loop", loop},   {"overlap", overlap},
              {"barrier", barrier}, {"graph", graph}, {"threads", threads}};

static int usage()
{
    fprintf(stderr, "usage: critical_path SCENE [OPERATION [MS]]\nscenes:");
    for (const scene &one : scenes)
        fprintf(stderr, " %s", one.name);
    fprintf(stderr, "\n");
    return 2;
}

/* Code is loaded at a kernel's first launch. */
static void warm_up()
{
    for (const work &one : works) {
        one.kernel<<<1, 1>>>(0);
        state_count("api cudaLaunchKernel", 1);
        did_kernels(one.name, 1);
    }
    CALL(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    const scene *found = nullptr;
    cudaStream_t streams[3];
    for (const scene &one : scenes)
        if (argc > 1 && strcmp(argv[1], one.name) == 0)
            found = &one;
    if (!found || argc > 4)
        return usage();
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    simulated = strstr(properties.name, "imulated") != nullptr;
    warm_up();
    for (cudaStream_t &stream : streams)
        stream = stream_new();
    lengthened = argc > 2 ? argv[2] : "";
    more = argc > 3 ? atof(argv[3]) : more;
    double begin = now_ms();
    found->play(streams);
    printf("took %.3f ms\n", now_ms() - begin);
    for (cudaStream_t stream : streams)
        CALL(cudaStreamDestroy(stream));
    state_print();
    return 0;
}
