/* The driver's functions for streams and CUDA events: those that make, record, query, wait for and destroy them. */
#include "agent/cupti/cupti_ids.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/graphs.h"
#include "agent/cupti/memory_pools.h"

/* Streams and events: made, recorded, waited for, asked for, destroyed. */

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

/* A deletion is published when it starts, by a resource callback, while the stream still has its number. Here remains
 * one that failed before; CUPTI is not asked about a handle that may be none. */
static void publish_stream_deletion(const struct driver_return *returned)
{
    const cuStreamDestroy_v2_params *p = returned->params;
    if (!returned->published)
        registry_stream_deletion_publish(&(struct gputrace_stream_deletion){
            .call = returned->call, .stream = p->hStream, .stream_id = GPUTRACE_NO_STREAM});
}

/* --- events --- */

/* The members of an event that say which stream an operation is put into. */
#define IN_STREAM(given)                                                               \
    .stream = driver_call_stream(returned, given),                                     \
    .stream_id = driver_call_stream_id(returned, driver_call_stream(returned, given)), \
    .captured = driver_call_done(returned) && captures_hold(driver_call_stream(returned, given))
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

/* The number of a green context's CUcontext is not to be had without calling CUDA: the call's stays the thread's. */
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

/* When it succeeds both events are done; when it fails it does not say which of them is not. */
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

static void publish_context_synchronization(const struct driver_return *returned)
{
    publish_waited(returned, NULL);
}

/* The call names the context that it waits for, which may be another one than the thread's; NULL is the thread's. */
static void publish_named_context_synchronization(const struct driver_return *returned)
{
    publish_waited(returned, ((const cuCtxSynchronize_v2_params *)returned->params)->ctx);
}

/* --- rows --- */

/* The one that subscribes to deletions has to know which streams there are. */
#define CREATION (REGISTRY_BIT(stream_creation) | REGISTRY_BIT(stream_deletion))
#define STREAM_DELETION REGISTRY_BIT(stream_deletion)
#define EVENT_DELETION REGISTRY_BIT(event_deletion)
#define RECORD REGISTRY_BIT(event_record)
#define WAIT REGISTRY_BIT(event_wait)
/* The thread that is in such a call waits. */
#define WAITS(kind) (REGISTRY_BIT(kind) | REGISTRY_BIT(open_call))

static const struct driver_call rows[] = {
    DRIVER_CALL(cuStreamCreate, CREATION, publish_cuStreamCreate),
    DRIVER_CALL(cuStreamCreateWithPriority, CREATION, publish_cuStreamCreateWithPriority),
    DRIVER_CALL(cuGreenCtxStreamCreate, CREATION, publish_cuGreenCtxStreamCreate),
    DRIVER_CALL(cuStreamDestroy, STREAM_DELETION, publish_stream_deletion),
    DRIVER_CALL(cuStreamDestroy_v2, STREAM_DELETION, publish_stream_deletion),
    DRIVER_CALL(cuEventCreate, REGISTRY_BIT(event_creation), publish_cuEventCreate),
    DRIVER_CALL(cuEventDestroy, EVENT_DELETION, publish_cuEventDestroy_v2),
    DRIVER_CALL(cuEventDestroy_v2, EVENT_DELETION, publish_cuEventDestroy_v2),
    DRIVER_CALL(cuEventRecord, RECORD, publish_cuEventRecord, .brief = true, .needs = CALLBACKS_EVENT_WATCH),
    {.cbid = CUPTI_DRIVER_TRACE_CBID_cuEventRecord_ptsz,
     .name = "cuEventRecord_ptsz",
     DRIVER_CALL_REST(true, RECORD, publish_cuEventRecord, .brief = true)},
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
    DRIVER_CALL(cuCtxSynchronize, WAITS(device_synchronization), publish_context_synchronization),
    DRIVER_CALL(cuCtxSynchronize_v2, WAITS(device_synchronization), publish_named_context_synchronization),
};

const struct driver_calls sync_calls = DRIVER_CALLS(rows);
