#include "agent/cupti/driver_calls.h"
#include "agent/cupti/lazy_loading.h"

/*
 * Kernel launches, and what is to be known when one begins: which function it is of (kernel_names.h), and whether it
 * loads it on the way, a phase of compilation (lazy_loading.h).
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
static void publish_grid(const struct driver_return *returned, CUfunction kernel, CUstream stream, int width,
                         int height)
{
    struct gputrace_kernel_launch launch = begin(returned, kernel, stream);
    launch.grid[0] = (uint32_t)width;
    launch.grid[1] = (uint32_t)height;
    launch.grid[2] = 1;
    registry_kernel_launch_publish(&launch);
}

static void publish_old(const struct driver_return *returned)
{
    const cuLaunch_params *p = returned->params;
    publish_grid(returned, p->f, NULL, 1, 1);
}

static void publish_old_grid(const struct driver_return *returned)
{
    const cuLaunchGrid_params *p = returned->params;
    publish_grid(returned, p->f, NULL, p->grid_width, p->grid_height);
}

static void publish_old_grid_async(const struct driver_return *returned)
{
    const cuLaunchGridAsync_params *p = returned->params;
    publish_grid(returned, p->f, p->hStream, p->grid_width, p->grid_height);
}

/* --- the first launch of a kernel --- */

/* What is launched, and what phase that is. */
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

#define LAUNCH REGISTRY_BIT(kernel_launch)
#define LAUNCH_ROW(id, text, function, is_per_thread, publisher)                                            \
    {                                                                                                       \
        .cbid = (id), .name = (text), .kinds = LAUNCH, .publish = (publisher), .trigger = loads_##function, \
        .launched = launched_by_##function, .per_thread = (is_per_thread)                                   \
    }
#define LAUNCH_PTSZ(function, publish)                                                   \
    LAUNCH_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, function, false, publish), \
        LAUNCH_ROW(CUPTI_DRIVER_TRACE_CBID_##function##_ptsz, #function "_ptsz", function, true, publish)

static const struct driver_call launch_rows[] = {
    LAUNCH_PTSZ(cuLaunchKernel, publish_launch),
    LAUNCH_PTSZ(cuLaunchKernelEx, publish_launch_ex),
    LAUNCH_PTSZ(cuLaunchCooperativeKernel, publish_cooperative),
    DRIVER_CALL(cuLaunchCooperativeKernelMultiDevice, LAUNCH, publish_multi_device, NULL),
    DRIVER_CALL(cuLaunch, LAUNCH, publish_old, NULL),
    DRIVER_CALL(cuLaunchGrid, LAUNCH, publish_old_grid, NULL),
    DRIVER_CALL(cuLaunchGridAsync, LAUNCH, publish_old_grid_async, NULL),
};

const struct driver_calls launch_calls = DRIVER_CALLS(launch_rows);

/* What else is put into streams: functions of the host, waits for and writes of values in memory, semaphores. */

static void publish_host_function(const struct driver_return *returned)
{
    const cuLaunchHostFunc_params *p = returned->params;
    registry_host_function_publish(
        &(struct gputrace_host_function){.call = returned->call, .stream = driver_call_stream(returned, p->hStream)});
}

static void publish_callback(const struct driver_return *returned)
{
    const cuStreamAddCallback_params *p = returned->params;
    registry_host_function_publish(
        &(struct gputrace_host_function){.call = returned->call, .stream = driver_call_stream(returned, p->hStream)});
}

static void publish_values(const struct driver_return *returned, CUstream stream, uint32_t waits, uint32_t writes)
{
    registry_stream_value_publish(&(struct gputrace_stream_value){
        .call = returned->call,
        .stream = driver_call_stream(returned, stream),
        .waits = waits,
        .writes = writes,
    });
}

/* Values of 32 and of 64 bits, first and second version: the stream comes first in all of them. */
static void publish_wait(const struct driver_return *returned)
{
    const cuStreamWaitValue32_v2_params *p = returned->params;
    publish_values(returned, p->stream, 1, 0);
}

static void publish_write(const struct driver_return *returned)
{
    const cuStreamWriteValue32_v2_params *p = returned->params;
    publish_values(returned, p->stream, 0, 1);
}

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
    publish_values(returned, p->stream, waits, writes);
}

static void publish_semaphores_signalled(const struct driver_return *returned)
{
    const cuSignalExternalSemaphoresAsync_params *p = returned->params;
    publish_values(returned, p->stream, 0, p->numExtSems);
}

static void publish_semaphores_waited_for(const struct driver_return *returned)
{
    const cuWaitExternalSemaphoresAsync_params *p = returned->params;
    publish_values(returned, p->stream, p->numExtSems, 0);
}

#define VALUE REGISTRY_BIT(stream_value)

static const struct driver_call queue_rows[] = {
    DRIVER_CALL_PTSZ(cuLaunchHostFunc, REGISTRY_BIT(host_function), publish_host_function, NULL),
    DRIVER_CALL_PTSZ(cuStreamAddCallback, REGISTRY_BIT(host_function), publish_callback, NULL),
    DRIVER_CALL_PTSZ(cuStreamWaitValue32, VALUE, publish_wait, NULL),
    DRIVER_CALL_PTSZ(cuStreamWaitValue64, VALUE, publish_wait, NULL),
    DRIVER_CALL_PTSZ(cuStreamWaitValue32_v2, VALUE, publish_wait, NULL),
    DRIVER_CALL_PTSZ(cuStreamWaitValue64_v2, VALUE, publish_wait, NULL),
    DRIVER_CALL_PTSZ(cuStreamWriteValue32, VALUE, publish_write, NULL),
    DRIVER_CALL_PTSZ(cuStreamWriteValue64, VALUE, publish_write, NULL),
    DRIVER_CALL_PTSZ(cuStreamWriteValue32_v2, VALUE, publish_write, NULL),
    DRIVER_CALL_PTSZ(cuStreamWriteValue64_v2, VALUE, publish_write, NULL),
    DRIVER_CALL_PTSZ(cuStreamBatchMemOp, VALUE, publish_batch, NULL),
    DRIVER_CALL_PTSZ(cuStreamBatchMemOp_v2, VALUE, publish_batch, NULL),
    DRIVER_CALL_PTSZ(cuSignalExternalSemaphoresAsync, VALUE, publish_semaphores_signalled, NULL),
    DRIVER_CALL_PTSZ(cuWaitExternalSemaphoresAsync, VALUE, publish_semaphores_waited_for, NULL),
};

const struct driver_calls queue_calls = DRIVER_CALLS(queue_rows);

/* The program says between which calls it wants to be profiled. */

static void publish_start(const struct driver_return *returned)
{
    registry_profiler_publish(&(struct gputrace_profiler){.call = returned->call, .start = 1});
}

static void publish_stop(const struct driver_return *returned)
{
    registry_profiler_publish(&(struct gputrace_profiler){.call = returned->call, .start = 0});
}

static const struct driver_call profiler_rows[] = {
    DRIVER_CALL(cuProfilerStart, REGISTRY_BIT(profiler), publish_start, NULL),
    DRIVER_CALL(cuProfilerStop, REGISTRY_BIT(profiler), publish_stop, NULL),
};

const struct driver_calls profiler_calls = DRIVER_CALLS(profiler_rows);
