/*
 * The driver's functions for streams: they launch kernels, put other work into a stream, record and wait for CUDA
 * events, and wait for a stream. Also those that start and stop profiling.
 */
#include <string.h>

#include "agent/cupti/calls_memory.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/graphs.h"

/* --- launches of kernels --- */

static struct gputrace_kernel_launch begin(const struct driver_return *returned, CUfunction kernel, CUstream stream)
{
    return (struct gputrace_kernel_launch){
        .call = returned->call,
        .name = returned->symbol,
        .kernel = driver_call_integer(kernel),
        .stream = driver_call_stream(returned, stream),
    };
}

/* Copies the shape of a launch from FROM; several structs of different types have these members. */
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

/* The attributes of a refused launch are not read: they may be the reason for the refusal. */
static void publish_launch_ex(const struct driver_return *returned)
{
    const cuLaunchKernelEx_params *p = returned->params;
    struct gputrace_kernel_launch launch = begin(returned, p->f, p->config ? p->config->hStream : NULL);
    if (p->config)
        SET_SHAPE(&launch, p->config);
    unsigned attributes = driver_call_done(returned) && p->config->attrs ? p->config->numAttrs : 0;
    for (unsigned i = 0; i < attributes; i++)
        if (p->config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            launch.cooperative = p->config->attrs[i].value.cooperative != 0;
    registry_kernel_launch_publish(&launch);
}

/* Publishes a launch on each of several devices. The call's device and context are those of the thread. The name is
 * left out, because the call has only one symbol for all kernels. A failed call is published once, without details. */
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

/* Publishes launches of CUDA 3's functions. The block's shape is unknown, because an earlier call has set it. */
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

/* Defines what a function launches, and whether the launch loads the kernel's code, as a phase of compilation. */
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

/* Other work in streams: host functions, waits for and writes of values in memory, semaphores. */

DRIVER_CALL_PUBLISHES(cuLaunchHostFunc, host_function, .stream = driver_call_stream(returned, p->hStream))
DRIVER_CALL_PUBLISHES(cuStreamAddCallback, host_function, .stream = driver_call_stream(returned, p->hStream))

#define PUBLISHES_VALUES(function, wait_count, write_count)                                          \
    DRIVER_CALL_PUBLISHES(function, stream_value, .stream = driver_call_stream(returned, p->stream), \
                          .waits = wait_count, .writes = write_count)

/* These readers serve values of 32 and 64 bits, and both versions: all have the stream as first parameter. */
PUBLISHES_VALUES(cuStreamWaitValue32_v2, 1, 0)
PUBLISHES_VALUES(cuStreamWriteValue32_v2, 0, 1)
PUBLISHES_VALUES(cuSignalExternalSemaphoresAsync, 0, p->numExtSems)
PUBLISHES_VALUES(cuWaitExternalSemaphoresAsync, p->numExtSems, 0)

/* Publishes how many waits and writes a batch has. The array of a failed batch is not read. */
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

/* --- start and stop of profiling by the program --- */

#define PUBLISH_PROFILER(function, is_start)                                                               \
    static void publish_##function(const struct driver_return *returned)                                   \
    {                                                                                                      \
        registry_profiler_publish(&(struct gputrace_profiler){.call = returned->call, .start = is_start}); \
    }
PUBLISH_PROFILER(cuProfilerStart, 1)
PUBLISH_PROFILER(cuProfilerStop, 0)

/* --- streams --- */

static void publish_stream_creation(const struct driver_return *returned, CUstream *out, unsigned flags, int priority)
{
    CUstream stream = driver_call_done(returned) ? *out : NULL;
    if (stream)
        own_streams_add(stream);
    uint64_t context = driver_call_integer(returned->call.context);
    registry_stream_creation_publish(&(struct gputrace_stream_creation){
        .call = returned->call,
        .stream = stream,
        .stream_id = stream ? cupti_stream_id(context, driver_call_integer(stream)) : GPUTRACE_NO_STREAM,
        .flags = flags,
        .priority = priority,
    });
}

#define PUBLISH_CREATION(function, flags, priority)                         \
    static void publish_##function(const struct driver_return *returned)    \
    {                                                                       \
        const function##_params *p = returned->params;                      \
        publish_stream_creation(returned, p->phStream, p->flags, priority); \
    }
PUBLISH_CREATION(cuStreamCreate, Flags, 0)
PUBLISH_CREATION(cuStreamCreateWithPriority, flags, p->priority)
PUBLISH_CREATION(cuGreenCtxStreamCreate, flags, p->priority)

/* Publishes a failed deletion. Other deletions are published when they start, by a resource callback, while the stream
 * still has its number. CUPTI is not asked about a handle that may be invalid. */
static void publish_stream_deletion(const struct driver_return *returned)
{
    const cuStreamDestroy_v2_params *p = returned->params;
    if (!returned->published)
        registry_stream_deletion_publish(&(struct gputrace_stream_deletion){
            .call = returned->call, .stream = p->hStream, .stream_id = GPUTRACE_NO_STREAM});
}

/* --- events --- */

/* The members of an event for the stream that an operation is put into. */
#define IN_STREAM(given)                                                               \
    .stream = driver_call_stream(returned, given),                                     \
    .stream_id = driver_call_stream_id(returned, driver_call_stream(returned, given)), \
    .captured = captures_go_on() && driver_call_done(returned) && captures_ask(driver_call_stream(returned, given))
#define IN_CONTEXT .whole_context = 1, .stream_id = GPUTRACE_NO_STREAM

DRIVER_CALL_PUBLISHES(cuEventCreate, event_creation, .event = driver_call_done(returned) ? *p->phEvent : NULL,
                      .flags = p->Flags)
DRIVER_CALL_PUBLISHES(cuEventDestroy_v2, event_deletion, .event = p->hEvent)
DRIVER_CALL_PUBLISHES(cuEventRecord, event_record, .event = p->hEvent, IN_STREAM(p->hStream))
DRIVER_CALL_PUBLISHES(cuEventRecordWithFlags, event_record, .event = p->hEvent, .flags = p->flags,
                      IN_STREAM(p->hStream))
DRIVER_CALL_PUBLISHES(cuStreamWaitEvent, event_wait, .event = p->hEvent, .flags = p->Flags, IN_STREAM(p->hStream))
DRIVER_CALL_PUBLISHES(cuEventSynchronize, event_synchronization, .event = p->hEvent)
DRIVER_CALL_PUBLISHES(cuEventQuery, event_query, .event = p->hEvent)

/* CUPTI's number of a green context needs a CUDA call to find out, so the event has the thread's context. */
DRIVER_CALL_PUBLISHES(cuGreenCtxRecordEvent, event_record, .event = p->hEvent, IN_CONTEXT)
DRIVER_CALL_PUBLISHES(cuGreenCtxWaitEvent, event_wait, .event = p->hEvent, IN_CONTEXT)

static void publish_context_record(const struct driver_return *returned)
{
    const cuCtxRecordEvent_params *p = returned->params;
    struct gputrace_event_record record = {.call = returned->call, .event = p->hEvent, IN_CONTEXT};
    cupti_ids_of_context(p->hCtx, &record.call);
    registry_event_record_publish_by(returned->reader, &record);
}

static void publish_context_wait(const struct driver_return *returned)
{
    const cuCtxWaitEvent_params *p = returned->params;
    struct gputrace_event_wait wait = {.call = returned->call, .event = p->hEvent, IN_CONTEXT};
    cupti_ids_of_context(p->hCtx, &wait.call);
    registry_event_wait_publish_by(returned->reader, &wait);
}

/* A successful call shows that both events are done; a failed one does not show which event is not. */
static void publish_elapsed_time(const struct driver_return *returned)
{
    const cuEventElapsedTime_v2_params *p = returned->params;
    CUevent events[] = {p->hStart, p->hEnd};
    for (unsigned i = 0; driver_call_done(returned) && i < 2; i++)
        registry_event_query_publish_by(returned->reader,
                                        &(struct gputrace_event_query){.call = returned->call, .event = events[i]});
}

/* --- the thread waits for a stream or a context --- */

static void publish_stream_synchronization(const struct driver_return *returned)
{
    const cuStreamSynchronize_params *p = returned->params;
    CUstream stream = driver_call_stream(returned, p->hStream);
    memory_pools_returned();
    registry_stream_synchronization_publish_by(
        returned->reader,
        &(struct gputrace_stream_synchronization){
            .call = returned->call, .stream = stream, .stream_id = driver_call_stream_id(returned, stream)});
}

DRIVER_CALL_PUBLISHES(cuStreamQuery, stream_query, .stream = driver_call_stream(returned, p->hStream))

static void publish_waited(const struct driver_return *returned, CUcontext context)
{
    struct gputrace_device_synchronization waited = {.call = returned->call};
    if (context && context != waited.call.context)
        cupti_ids_of_context(context, &waited.call);
    memory_pools_returned();
    registry_device_synchronization_publish_by(returned->reader, &waited);
}

#define PUBLISH_WAITED(function, context)                                \
    static void publish_##function(const struct driver_return *returned) \
    {                                                                    \
        publish_waited(returned, context);                               \
    }
/* The second version names the context to wait for, which may not be the thread's. */
PUBLISH_WAITED(cuCtxSynchronize, NULL)
PUBLISH_WAITED(cuCtxSynchronize_v2, ((const cuCtxSynchronize_v2_params *)returned->params)->ctx)

/* --- rows --- */

#define LAUNCH REGISTRY_BIT(kernel_launch)
/* Launches get a callback at their begin, too, while a thread loads code lazily, a first launch is expected, or a
 * capture goes on. */
#define BEGINS(function)                                                                                          \
    .needs = CALLBACKS_LAZY_LOADING | CALLBACKS_FIRST_LAUNCHES | CALLBACKS_CAPTURES, .trigger = loads_##function, \
    .launched = launched_by_##function, .brief = true
#define HOST_FUNCTION REGISTRY_BIT(host_function)
#define VALUE REGISTRY_BIT(stream_value)
#define PROFILER REGISTRY_BIT(profiler)
/* A subscriber to deletions needs to know which streams exist. */
#define CREATION (REGISTRY_BIT(stream_creation) | REGISTRY_BIT(stream_deletion))
#define STREAM_DELETION REGISTRY_BIT(stream_deletion)
#define EVENT_DELETION REGISTRY_BIT(event_deletion)
#define RECORD REGISTRY_BIT(event_record)
#define WAIT REGISTRY_BIT(event_wait)
/* The kinds of calls that wait: while a thread is in one, the call is published as open. */
#define WAITS(kind) (REGISTRY_BIT(kind) | REGISTRY_BIT(open_call))

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
    DRIVER_CALL(cuProfilerStart, PROFILER, publish_cuProfilerStart),
    DRIVER_CALL(cuProfilerStop, PROFILER, publish_cuProfilerStop),
    DRIVER_CALL(cuStreamCreate, CREATION, publish_cuStreamCreate),
    DRIVER_CALL(cuStreamCreateWithPriority, CREATION, publish_cuStreamCreateWithPriority),
    DRIVER_CALL(cuGreenCtxStreamCreate, CREATION, publish_cuGreenCtxStreamCreate),
    DRIVER_CALL(cuStreamDestroy, STREAM_DELETION, publish_stream_deletion),
    DRIVER_CALL(cuStreamDestroy_v2, STREAM_DELETION, publish_stream_deletion),
    DRIVER_CALL(cuEventCreate, REGISTRY_BIT(event_creation), publish_cuEventCreate),
    DRIVER_CALL(cuEventDestroy, EVENT_DELETION, publish_cuEventDestroy_v2),
    DRIVER_CALL(cuEventDestroy_v2, EVENT_DELETION, publish_cuEventDestroy_v2),
    DRIVER_CALL(cuEventRecord, RECORD, publish_cuEventRecord, .brief = true, .needs = CALLBACKS_EVENT_WATCH),
    DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_cuEventRecord_ptsz, "cuEventRecord_ptsz", true, RECORD,
                    publish_cuEventRecord, .brief = true),
    DRIVER_CALL_PTSZ(cuEventRecordWithFlags, RECORD, publish_cuEventRecordWithFlags, .brief = true),
    DRIVER_CALL(cuCtxRecordEvent, RECORD, publish_context_record),
    DRIVER_CALL(cuGreenCtxRecordEvent, RECORD, publish_cuGreenCtxRecordEvent),
    DRIVER_CALL(cuEventSynchronize, WAITS(event_synchronization), publish_cuEventSynchronize),
    DRIVER_CALL(cuEventQuery, REGISTRY_BIT(event_query), publish_cuEventQuery),
    DRIVER_CALL(cuEventElapsedTime, REGISTRY_BIT(event_query), publish_elapsed_time),
    DRIVER_CALL(cuEventElapsedTime_v2, REGISTRY_BIT(event_query), publish_elapsed_time),
    DRIVER_CALL_PTSZ(cuStreamWaitEvent, WAIT, publish_cuStreamWaitEvent),
    DRIVER_CALL(cuCtxWaitEvent, WAIT, publish_context_wait),
    DRIVER_CALL(cuGreenCtxWaitEvent, WAIT, publish_cuGreenCtxWaitEvent),
    DRIVER_CALL_PTSZ(cuStreamSynchronize, WAITS(stream_synchronization), publish_stream_synchronization),
    DRIVER_CALL_PTSZ(cuStreamQuery, REGISTRY_BIT(stream_query), publish_cuStreamQuery),
    DRIVER_CALL(cuCtxSynchronize, WAITS(device_synchronization), publish_cuCtxSynchronize),
    DRIVER_CALL(cuCtxSynchronize_v2, WAITS(device_synchronization), publish_cuCtxSynchronize_v2),
};

const struct driver_calls stream_calls = DRIVER_CALLS(rows);
