/*
 * The driver's functions that launch kernels or put other work into streams, and those that start and stop profiling.
 * A first launch may load its kernel's code: the first part of this file finds the launches that do.
 */
#include "agent/cupti/calls_launch.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "agent/cupti/callback_switches.h"
#include "agent/cupti/driver_calls.h"
#include "common/clock.h"
#include "common/map.h"

/* --- the first launch of a kernel that is loaded lazily (driver_calls.h) --- */

static struct {
    pthread_mutex_t lock; /* of changes; armed and round are read without it */
    unsigned armed;       /* threads, with those that are loading */
    unsigned loading;
    unsigned round; /* goes up when all of them are given up */
    uint64_t deadline;
} lazy = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    pthread_mutex_t lock;
    struct map functions; /* hashes of a kernel and a context */
} asked = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
    CUkernel kernel; /* armed for, in `round` */
    uint32_t correlation;
    unsigned round;
    bool loading;
} mine;

static unsigned current(const unsigned *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static void set(unsigned *counter, unsigned value)
{
    __atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

static bool is_armed(void)
{
    return mine.kernel && mine.round == current(&lazy.round);
}

void lazy_loading_arm(CUkernel kernel, uint32_t correlation)
{
    lazy_loading_ends(); /* of a launch that never returned here */
    pthread_mutex_lock(&lazy.lock);
    if (!is_armed())
        set(&lazy.armed, lazy.armed + 1);
    mine.kernel = kernel;
    mine.correlation = correlation;
    mine.round = lazy.round;
    __atomic_store_n(&lazy.deadline, clock_monotonic() + LAZY_LOADING_NS, __ATOMIC_RELAXED);
    callback_switches_need(CALLBACKS_LAZY_LOADING, true);
    pthread_mutex_unlock(&lazy.lock);
}

/* Under the lock. */
static void one_less(void)
{
    set(&lazy.armed, lazy.armed - 1);
    if (lazy.armed == 0)
        callback_switches_need(CALLBACKS_LAZY_LOADING, false);
}

/* Under the lock. */
static void give_all_up(void)
{
    set(&lazy.round, lazy.round + 1);
    set(&lazy.armed, 0);
    lazy.loading = 0;
    callback_switches_need(CALLBACKS_LAZY_LOADING, false);
}

bool lazy_loading_is_first(CUkernel kernel, CUcontext context)
{
    const void *both[] = {kernel, context};
    bool first = true;
    pthread_mutex_lock(&asked.lock);
    map_put(&asked.functions, hash_bytes(both, sizeof(both)), &first);
    pthread_mutex_unlock(&asked.lock);
    return first;
}

void lazy_loading_unloaded(void)
{
    pthread_mutex_lock(&asked.lock);
    map_release(&asked.functions);
    pthread_mutex_unlock(&asked.lock);
}

void lazy_loading_loaded(CUkernel kernel)
{
    if (!is_armed() || mine.kernel != kernel)
        return;
    pthread_mutex_lock(&lazy.lock);
    if (is_armed())
        one_less();
    mine.kernel = NULL;
    pthread_mutex_unlock(&lazy.lock);
}

/* A launch begins on this thread: whether it loads the kernel, because it is the kernel's handle that is launched, or
 * because the runtime got it in the same call. Then lazy_loading_ends() when it returns. */
static bool lazy_loading_begins(CUfunction launched, uint32_t correlation)
{
    if (current(&lazy.armed) == 0)
        return false;
    if (is_armed() && ((const void *)launched == (const void *)mine.kernel || correlation == mine.correlation)) {
        pthread_mutex_lock(&lazy.lock);
        mine.loading = is_armed();
        mine.kernel = NULL;
        lazy.loading += mine.loading;
        pthread_mutex_unlock(&lazy.lock);
        return mine.loading;
    }
    if (clock_monotonic() <= __atomic_load_n(&lazy.deadline, __ATOMIC_RELAXED))
        return false;
    /* Threads that ended, or launched nothing, would keep the callbacks on for ever. A launch that is loading needs its
     * callback when it returns. */
    pthread_mutex_lock(&lazy.lock);
    if (lazy.armed > 0 && lazy.loading == 0 && clock_monotonic() > lazy.deadline)
        give_all_up();
    pthread_mutex_unlock(&lazy.lock);
    return false;
}

void lazy_loading_ends(void)
{
    if (!mine.loading)
        return;
    pthread_mutex_lock(&lazy.lock);
    mine.loading = false;
    if (mine.round == lazy.round) {
        lazy.loading--;
        one_less();
    }
    pthread_mutex_unlock(&lazy.lock);
}

void lazy_loading_give_up(void)
{
    pthread_mutex_lock(&lazy.lock);
    give_all_up();
    pthread_mutex_unlock(&lazy.lock);
}

void lazy_loading_atfork_child(void)
{
    pthread_mutex_init(&lazy.lock, NULL);
    lazy.armed = lazy.loading = 0;
    mine.kernel = NULL;
    mine.loading = false;
    pthread_mutex_init(&asked.lock, NULL);
    asked.functions = (struct map){0}; /* the parent's memory is a copy here: leave it, malloc may be locked */
}

/*
 * Kernel launches, and what is to be known when one begins: which function it is of (kernel_names.h), and whether it
 * loads it on the way, a phase of compilation (above).
 */

static struct gputrace_kernel_launch begin(const struct driver_return *returned, CUfunction kernel, CUstream stream)
{
    return (struct gputrace_kernel_launch){
        .call = returned->call,
        .name = returned->symbol,
        .kernel = driver_call_integer(kernel),
        .stream = driver_call_stream(returned, stream),
    };
}

/* The shape of a launch, which stands in structs that are alike but for their type. */
#define SET_SHAPE(launch, from)                          \
    do {                                                 \
        (launch)->grid[0] = (from)->gridDimX;            \
        (launch)->grid[1] = (from)->gridDimY;            \
        (launch)->grid[2] = (from)->gridDimZ;            \
        (launch)->block[0] = (from)->blockDimX;          \
        (launch)->block[1] = (from)->blockDimY;          \
        (launch)->block[2] = (from)->blockDimZ;          \
        (launch)->shared_bytes = (from)->sharedMemBytes; \
    } while (0)

static void publish_launch(const struct driver_return *returned)
{
    const cuLaunchKernel_params *p = returned->params;
    struct gputrace_kernel_launch launch = begin(returned, p->f, p->hStream);
    SET_SHAPE(&launch, p);
    registry_kernel_launch_publish(&launch);
}

static void publish_cooperative(const struct driver_return *returned)
{
    const cuLaunchCooperativeKernel_params *p = returned->params;
    struct gputrace_kernel_launch launch = begin(returned, p->f, p->hStream);
    SET_SHAPE(&launch, p);
    launch.cooperative = 1;
    registry_kernel_launch_publish(&launch);
}

static uint32_t is_cooperative(const CUlaunchConfig *config)
{
    for (unsigned i = 0; config->attrs && i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            return config->attrs[i].value.cooperative != 0;
    return 0;
}

/* The attributes of a launch that was refused may be what it was refused for: they are not looked at.
 */
static void publish_launch_ex(const struct driver_return *returned)
{
    const cuLaunchKernelEx_params *p = returned->params;
    struct gputrace_kernel_launch launch = begin(returned, p->f, p->config ? p->config->hStream : NULL);
    if (p->config)
        SET_SHAPE(&launch, p->config);
    if (driver_call_done(returned))
        launch.cooperative = is_cooperative(p->config);
    registry_kernel_launch_publish(&launch);
}

/* One launch on each of several devices. The call's device and context are the thread's, and one symbol stands for no
 * more than one of the kernels: the name is left out. Of a failed call nothing is known but that. */
static void publish_multi_device(const struct driver_return *returned)
{
    const cuLaunchCooperativeKernelMultiDevice_params *p = returned->params;
    unsigned count = driver_call_done(returned) ? p->numDevices : 0;
    for (unsigned i = 0; i < count; i++) {
        const CUDA_LAUNCH_PARAMS *one = &p->launchParamsList[i];
        struct gputrace_kernel_launch launch = begin(returned, one->function, one->hStream);
        SET_SHAPE(&launch, one);
        launch.name = NULL;
        launch.cooperative = 1;
        registry_kernel_launch_publish(&launch);
    }
    if (count == 0)
        registry_kernel_launch_publish(&(struct gputrace_kernel_launch){.call = returned->call, .cooperative = 1});
}

/* The functions of CUDA 3: the block's shape was set before, by a call of its own, and is not known. */
#define PUBLISH_OLD(function, in_stream, width, height)                          \
    static void publish_##function(const struct driver_return *returned)         \
    {                                                                            \
        const function##_params *p = returned->params;                           \
        struct gputrace_kernel_launch launch = begin(returned, p->f, in_stream); \
        const uint32_t grid[] = {(uint32_t)(width), (uint32_t)(height), 1};      \
        memcpy(launch.grid, grid, sizeof(grid));                                 \
        registry_kernel_launch_publish(&launch);                                 \
    }
PUBLISH_OLD(cuLaunch, NULL, 1, 1)
PUBLISH_OLD(cuLaunchGrid, NULL, p->grid_width, p->grid_height)
PUBLISH_OLD(cuLaunchGridAsync, p->hStream, p->grid_width, p->grid_height)

/* --- the first launch of a kernel --- */

/* Defines what a launch launches, and which phase of compilation it is. */
#define LAUNCHES(function, handle)                                                                \
    static CUfunction launched_by_##function(const void *params)                                  \
    {                                                                                             \
        return ((const function##_params *)params)->handle;                                       \
    }                                                                                             \
    static uint32_t loads_##function(const void *params, CUcontext context, uint32_t correlation) \
    {                                                                                             \
        (void)context;                                                                            \
        bool loads = lazy_loading_begins(launched_by_##function(params), correlation);            \
        return loads ? GPUTRACE_TRIGGER_FUNCTION_LOAD : 0;                                        \
    }
LAUNCHES(cuLaunchKernel, f)
LAUNCHES(cuLaunchKernelEx, f)
LAUNCHES(cuLaunchCooperativeKernel, f)

/* What else is put into streams: functions of the host, waits for and writes of values in memory, semaphores. */

DRIVER_CALL_PUBLISHES(cuLaunchHostFunc, host_function, .stream = driver_call_stream(returned, p->hStream))
DRIVER_CALL_PUBLISHES(cuStreamAddCallback, host_function, .stream = driver_call_stream(returned, p->hStream))

#define PUBLISHES_VALUES(function, wait_count, write_count)                                          \
    DRIVER_CALL_PUBLISHES(function, stream_value, .stream = driver_call_stream(returned, p->stream), \
                          .waits = wait_count, .writes = write_count)

/* Values of 32 and of 64 bits, first and second version: the stream comes first in all of them. */
PUBLISHES_VALUES(cuStreamWaitValue32_v2, 1, 0)
PUBLISHES_VALUES(cuStreamWriteValue32_v2, 0, 1)
PUBLISHES_VALUES(cuSignalExternalSemaphoresAsync, 0, p->numExtSems)
PUBLISHES_VALUES(cuWaitExternalSemaphoresAsync, p->numExtSems, 0)

/* How many of each; of a batch that failed the array is not looked at. */
static void publish_batch(const struct driver_return *returned)
{
    const cuStreamBatchMemOp_v2_params *p = returned->params;
    uint32_t waits = 0, writes = 0;
    for (unsigned i = 0; driver_call_done(returned) && i < p->count; i++) {
        CUstreamBatchMemOpType operation = p->paramArray[i].operation;
        waits += operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
        writes += operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 || operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    }
    registry_stream_value_publish(&(struct gputrace_stream_value){
        .call = returned->call,
        .stream = driver_call_stream(returned, p->stream),
        .waits = waits,
        .writes = writes,
    });
}

/* --- the program says between which calls it wants to be profiled --- */

static void publish_profiler_start(const struct driver_return *returned)
{
    registry_profiler_publish(&(struct gputrace_profiler){.call = returned->call, .start = 1});
}

static void publish_profiler_stop(const struct driver_return *returned)
{
    registry_profiler_publish(&(struct gputrace_profiler){.call = returned->call, .start = 0});
}

/* --- rows --- */

#define LAUNCH REGISTRY_BIT(kernel_launch)
/* A launch that loads code lazily, is the first of its kernel, or is captured is looked at when it begins, too. */
#define BEGINS(function)                                                                                          \
    .needs = CALLBACKS_LAZY_LOADING | CALLBACKS_FIRST_LAUNCHES | CALLBACKS_CAPTURES, .trigger = loads_##function, \
    .launched = launched_by_##function, .brief = true
#define HOST_FUNCTION REGISTRY_BIT(host_function)
#define VALUE REGISTRY_BIT(stream_value)
#define PROFILER REGISTRY_BIT(profiler)

static const struct driver_call rows[] = {
    DRIVER_CALL_PTSZ(cuLaunchKernel, LAUNCH, publish_launch, BEGINS(cuLaunchKernel)),
    DRIVER_CALL_PTSZ(cuLaunchKernelEx, LAUNCH, publish_launch_ex, BEGINS(cuLaunchKernelEx)),
    DRIVER_CALL_PTSZ(cuLaunchCooperativeKernel, LAUNCH, publish_cooperative, BEGINS(cuLaunchCooperativeKernel)),
    DRIVER_CALL(cuLaunchCooperativeKernelMultiDevice, LAUNCH, publish_multi_device),
    DRIVER_CALL(cuLaunch, LAUNCH, publish_cuLaunch),
    DRIVER_CALL(cuLaunchGrid, LAUNCH, publish_cuLaunchGrid),
    DRIVER_CALL(cuLaunchGridAsync, LAUNCH, publish_cuLaunchGridAsync),
    DRIVER_CALL_PTSZ(cuLaunchHostFunc, HOST_FUNCTION, publish_cuLaunchHostFunc),
    DRIVER_CALL_PTSZ(cuStreamAddCallback, HOST_FUNCTION, publish_cuStreamAddCallback),
    DRIVER_CALL_PTSZ(cuStreamWaitValue32, VALUE, publish_cuStreamWaitValue32_v2),
    DRIVER_CALL_PTSZ(cuStreamWaitValue64, VALUE, publish_cuStreamWaitValue32_v2),
    DRIVER_CALL_PTSZ(cuStreamWaitValue32_v2, VALUE, publish_cuStreamWaitValue32_v2),
    DRIVER_CALL_PTSZ(cuStreamWaitValue64_v2, VALUE, publish_cuStreamWaitValue32_v2),
    DRIVER_CALL_PTSZ(cuStreamWriteValue32, VALUE, publish_cuStreamWriteValue32_v2),
    DRIVER_CALL_PTSZ(cuStreamWriteValue64, VALUE, publish_cuStreamWriteValue32_v2),
    DRIVER_CALL_PTSZ(cuStreamWriteValue32_v2, VALUE, publish_cuStreamWriteValue32_v2),
    DRIVER_CALL_PTSZ(cuStreamWriteValue64_v2, VALUE, publish_cuStreamWriteValue32_v2),
    DRIVER_CALL_PTSZ(cuStreamBatchMemOp, VALUE, publish_batch),
    DRIVER_CALL_PTSZ(cuStreamBatchMemOp_v2, VALUE, publish_batch),
    DRIVER_CALL_PTSZ(cuSignalExternalSemaphoresAsync, VALUE, publish_cuSignalExternalSemaphoresAsync),
    DRIVER_CALL_PTSZ(cuWaitExternalSemaphoresAsync, VALUE, publish_cuWaitExternalSemaphoresAsync),
    DRIVER_CALL(cuProfilerStart, PROFILER, publish_profiler_start),
    DRIVER_CALL(cuProfilerStop, PROFILER, publish_profiler_stop),
};

const struct driver_calls launch_calls = DRIVER_CALLS(rows);
