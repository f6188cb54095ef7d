/*
 * What callbacks cost: nanoseconds per launch, event record, allocation with its release (from one place, and from a
 * thousand that lie 40 functions deep, which is for --backtrace), and NVTX push with its pop; and what a device range
 * costs, start with end, and an event of the cache, taken and given back. These two do nothing where there is no
 * gputrace.
 *
 *     callback_cost [ROUNDS]
 *
 * Prints a line `OPERATION plain N` for each: the median over ROUNDS (101) blocks of many operations. Under gputrace it
 * registers an empty callback for every kind around every second block, and prints `OPERATION callbacks N` too: the
 * median of the differences between neighbouring blocks. How it compares with not being traced at all is for two
 * processes to measure, whose runs alternate: tests/bench/callbacks.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <gputrace/callbacks.h>
#include <gputrace/gputrace.h>

__global__ void empty()
{
}

static cudaEvent_t event;
static const struct gputrace_host *host;
static CUctx_st *context;

static void check(cudaError_t result)
{
    if (result != cudaSuccess) {
        fprintf(stderr, "callback_cost: %s\n", cudaGetErrorString(result));
        exit(1);
    }
}

static void launch()
{
    empty<<<1, 1>>>();
}

static void record()
{
    check(cudaEventRecord(event));
}

static void allocate()
{
    void *memory;
    check(cudaMallocAsync(&memory, 4096, 0));
    check(cudaFreeAsync(memory, 0));
}

/* Each of the innermost ten of DEPTH functions is one of two, by a bit of PATH. */
template <int SIDE> static void __attribute__((noinline)) descend(int depth, unsigned path)
{
    if (depth == 0)
        allocate();
    else if (path >> depth & 1)
        descend<1>(depth - 1, path);
    else
        descend<0>(depth - 1, path);
    asm volatile("" ::"i"(SIDE)); /* so that no call becomes a jump, and the two are not made one */
}

/* From a thousand different places in turn, 40 functions deep, as in real programs: no call stack is like the last. */
static void allocate_deep()
{
    static unsigned count;
    descend<0>(40, count++ % 1024 << 1);
}

static void push()
{
    nvtxRangePushA("range");
    nvtxRangePop();
}

static void range()
{
    gputrace_device_range_end(gputrace_device_range_start("range", 0), 0);
}

static void take()
{
    gputrace_event_give_back(host, gputrace_event_take(host, context, 0));
}

/* In this order: once a range was started CUPTI calls back for every recorded event, which the last line measures. */
static const struct operation {
    const char *name;
    void (*run)();
    int block; /* operations */
} operations[] = {
    {"launch", launch, 500},       {"event_record", record, 500},
    {"allocation", allocate, 300}, {"deep_allocation", allocate_deep, 300},
    {"nvtx", push, 2000},          {"device_range", range, 200},
    {"event_take", take, 2000},    {"record_after", record, 500},
};

static double nanoseconds()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Nanoseconds of one operation, over a block. The GPU is idle before, and its queue never full within. */
static double measure(const struct operation *operation)
{
    check(cudaDeviceSynchronize());
    double began = nanoseconds();
    for (int i = 0; i < operation->block; i++)
        operation->run();
    return (nanoseconds() - began) / operation->block;
}

static double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

#define GPUTRACE_KIND(name)                                                  \
    static void heard_##name(void *data, const struct gputrace_##name *what) \
    {                                                                        \
        (void)data, (void)what;                                              \
    }
GPUTRACE_KINDS(GPUTRACE_KIND)
#undef GPUTRACE_KIND

static void listen()
{
#define GPUTRACE_KIND(name) gputrace_##name##_register(host, heard_##name, NULL);
    GPUTRACE_KINDS(GPUTRACE_KIND)
#undef GPUTRACE_KIND
}

static void run(const struct operation *operation, int rounds)
{
    std::vector<double> plain, added;
    measure(operation);
    for (int round = 0; round < rounds; round++) {
        double without = measure(operation);
        plain.push_back(without);
        if (!host)
            continue;
        listen();
        measure(operation); /* switching is not what is measured */
        double with = measure(operation);
        gputrace_clear(host, GPUTRACE_EVERY_KIND);
        measure(operation);
        added.push_back(with - without);
    }
    printf("%s plain %.1f\n", operation->name, median(plain));
    if (host)
        printf("%s callbacks %.1f\n", operation->name, median(added));
}

/* The thread's current one: a program that has not linked with the driver finds its functions by name. */
static CUctx_st *current_context()
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *function = driver ? dlsym(driver, "cuCtxGetCurrent") : NULL;
    CUctx_st *current = NULL;
    int (*ask)(CUctx_st **current);
    if (!function)
        return NULL;
    memcpy(&ask, &function, sizeof(ask));
    return ask(&current) == 0 ? current : NULL;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 101;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    launch();
    host = gputrace_own_host();
    context = current_context();
    for (const struct operation &operation : operations)
        run(&operation, rounds > 0 ? rounds : 1);
    return 0;
}
