#include "agent/cupti/graphs.h"
#include "agent/cupti/cupti_ids.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/memory_pools.h"

/* Streams: made, destroyed. */

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

static void publish_stream(const struct driver_return *returned)
{
    const cuStreamCreate_params *p = returned->params;
    publish_stream_creation(returned, p->phStream, p->Flags, 0);
}

static void publish_stream_with_priority(const struct driver_return *returned)
{
    const cuStreamCreateWithPriority_params *p = returned->params;
    publish_stream_creation(returned, p->phStream, p->flags, p->priority);
}

static void publish_green_context_stream(const struct driver_return *returned)
{
    const cuGreenCtxStreamCreate_params *p = returned->params;
    publish_stream_creation(returned, p->phStream, p->flags, p->priority);
}

/* A deletion is published when it starts, by a resource callback, while the stream still has its number. Here remains
 * one that failed before; CUPTI is not asked about a handle that may be none. */
static void publish_stream_deletion(const struct driver_return *returned)
{
    const cuStreamDestroy_v2_params *p = returned->params;
    if (!returned->published)
        registry_stream_deletion_publish(&(struct gputrace_stream_deletion){
            .call = returned->call, .stream = p->hStream, .stream_id = GPUTRACE_NO_STREAM});
}

/* The one that subscribes to deletions has to know which streams there are. */
#define CREATION (REGISTRY_BIT(stream_creation) | REGISTRY_BIT(stream_deletion))

static const struct driver_call stream_rows[] = {
    DRIVER_CALL(cuStreamCreate, CREATION, publish_stream, NULL),
    DRIVER_CALL(cuStreamCreateWithPriority, CREATION, publish_stream_with_priority, NULL),
    DRIVER_CALL(cuGreenCtxStreamCreate, CREATION, publish_green_context_stream, NULL),
    DRIVER_CALL(cuStreamDestroy, REGISTRY_BIT(stream_deletion), publish_stream_deletion, NULL),
    DRIVER_CALL(cuStreamDestroy_v2, REGISTRY_BIT(stream_deletion), publish_stream_deletion, NULL),
};

const struct driver_calls stream_calls = DRIVER_CALLS(stream_rows);

/* Events: made, recorded, waited for by the thread, asked for, destroyed. A stream's wait is in calls_sync.c. */

static void publish_event_creation(const struct driver_return *returned)
{
    const cuEventCreate_params *p = returned->params;
    registry_event_creation_publish_by(returned->reader, &(struct gputrace_event_creation){
                                                             .call = returned->call,
                                                             .event = driver_call_done(returned) ? *p->phEvent : NULL,
                                                             .flags = p->Flags,
                                                         });
}

static void publish_event_deletion(const struct driver_return *returned)
{
    const cuEventDestroy_v2_params *p = returned->params;
    registry_event_deletion_publish_by(returned->reader,
                                       &(struct gputrace_event_deletion){.call = returned->call, .event = p->hEvent});
}

static void publish_record_in(const struct driver_return *returned, CUevent event, CUstream given, uint32_t flags)
{
    CUstream stream = driver_call_stream(returned, given);
    registry_event_record_publish_by(returned->reader,
                                     &(struct gputrace_event_record){
                                         .call = returned->call,
                                         .event = event,
                                         .stream = stream,
                                         .flags = flags,
                                         .stream_id = driver_call_stream_id(returned, stream),
                                         .captured = driver_call_done(returned) && captures_hold(stream),
                                     });
}

static void publish_record(const struct driver_return *returned)
{
    const cuEventRecord_params *p = returned->params;
    publish_record_in(returned, p->hEvent, p->hStream, 0);
}

static void publish_record_with_flags(const struct driver_return *returned)
{
    const cuEventRecordWithFlags_params *p = returned->params;
    publish_record_in(returned, p->hEvent, p->hStream, p->flags);
}

static struct gputrace_event_record whole_record(const struct driver_return *returned, CUevent event)
{
    return (struct gputrace_event_record){
        .call = returned->call, .event = event, .whole_context = 1, .stream_id = GPUTRACE_NO_STREAM};
}

static void publish_context_record(const struct driver_return *returned)
{
    const cuCtxRecordEvent_params *p = returned->params;
    struct gputrace_event_record record = whole_record(returned, p->hEvent);
    cupti_ids_of_context(p->hCtx, &record.call);
    registry_event_record_publish_by(returned->reader, &record);
}

/* The number of a green context's CUcontext is not to be had without calling CUDA: the call's stays the thread's. */
static void publish_green_context_record(const struct driver_return *returned)
{
    const cuGreenCtxRecordEvent_params *p = returned->params;
    struct gputrace_event_record record = whole_record(returned, p->hEvent);
    registry_event_record_publish_by(returned->reader, &record);
}

static void publish_event_synchronization(const struct driver_return *returned)
{
    const cuEventSynchronize_params *p = returned->params;
    registry_event_synchronization_publish_by(
        returned->reader, &(struct gputrace_event_synchronization){.call = returned->call, .event = p->hEvent});
}

static void publish_event_query(const struct driver_return *returned)
{
    const cuEventQuery_params *p = returned->params;
    registry_event_query_publish_by(returned->reader,
                                    &(struct gputrace_event_query){.call = returned->call, .event = p->hEvent});
}

/* When it succeeds both events are done; when it fails it does not say which of them is not. */
static void publish_elapsed_time(const struct driver_return *returned)
{
    const cuEventElapsedTime_v2_params *p = returned->params;
    if (!driver_call_done(returned))
        return;
    registry_event_query_publish_by(returned->reader,
                                    &(struct gputrace_event_query){.call = returned->call, .event = p->hStart});
    registry_event_query_publish_by(returned->reader,
                                    &(struct gputrace_event_query){.call = returned->call, .event = p->hEnd});
}

/* The thread that is in such a call waits. */
#define WAITS(kind) (REGISTRY_BIT(kind) | REGISTRY_BIT(open_call))

static const struct driver_call event_rows[] = {
    DRIVER_CALL(cuEventCreate, REGISTRY_BIT(event_creation), publish_event_creation, NULL),
    DRIVER_CALL(cuEventDestroy, REGISTRY_BIT(event_deletion), publish_event_deletion, NULL),
    DRIVER_CALL(cuEventDestroy_v2, REGISTRY_BIT(event_deletion), publish_event_deletion, NULL),
    DRIVER_CALL_PTSZ_BRIEF(cuEventRecord, REGISTRY_BIT(event_record), publish_record),
    DRIVER_CALL_PTSZ_BRIEF(cuEventRecordWithFlags, REGISTRY_BIT(event_record), publish_record_with_flags),
    DRIVER_CALL(cuCtxRecordEvent, REGISTRY_BIT(event_record), publish_context_record, NULL),
    DRIVER_CALL(cuGreenCtxRecordEvent, REGISTRY_BIT(event_record), publish_green_context_record, NULL),
    DRIVER_CALL(cuEventSynchronize, WAITS(event_synchronization), publish_event_synchronization, NULL),
    DRIVER_CALL(cuEventQuery, REGISTRY_BIT(event_query), publish_event_query, NULL),
    DRIVER_CALL(cuEventElapsedTime, REGISTRY_BIT(event_query), publish_elapsed_time, NULL),
    DRIVER_CALL(cuEventElapsedTime_v2, REGISTRY_BIT(event_query), publish_elapsed_time, NULL),
};

const struct driver_calls event_calls = DRIVER_CALLS(event_rows);

/* Waits: of the thread for a stream or a context, of a stream for an event. */

static void publish_event_wait(const struct driver_return *returned)
{
    const cuStreamWaitEvent_params *p = returned->params;
    CUstream stream = driver_call_stream(returned, p->hStream);
    registry_event_wait_publish_by(returned->reader,
                                   &(struct gputrace_event_wait){
                                       .call = returned->call,
                                       .event = p->hEvent,
                                       .stream = stream,
                                       .flags = p->Flags,
                                       .stream_id = driver_call_stream_id(returned, stream),
                                       .captured = driver_call_done(returned) && captures_hold(stream),
                                   });
}

static struct gputrace_event_wait whole_wait(const struct driver_return *returned, CUevent event)
{
    return (struct gputrace_event_wait){
        .call = returned->call, .event = event, .whole_context = 1, .stream_id = GPUTRACE_NO_STREAM};
}

static void publish_context_wait(const struct driver_return *returned)
{
    const cuCtxWaitEvent_params *p = returned->params;
    struct gputrace_event_wait wait = whole_wait(returned, p->hEvent);
    cupti_ids_of_context(p->hCtx, &wait.call);
    registry_event_wait_publish_by(returned->reader, &wait);
}

static void publish_green_context_wait(const struct driver_return *returned)
{
    const cuGreenCtxWaitEvent_params *p = returned->params;
    struct gputrace_event_wait wait = whole_wait(returned, p->hEvent);
    registry_event_wait_publish_by(returned->reader, &wait);
}

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

static void publish_stream_query(const struct driver_return *returned)
{
    const cuStreamQuery_params *p = returned->params;
    registry_stream_query_publish_by(
        returned->reader,
        &(struct gputrace_stream_query){.call = returned->call, .stream = driver_call_stream(returned, p->hStream)});
}

static void publish_context_synchronization(const struct driver_return *returned)
{
    memory_pools_returned();
    registry_device_synchronization_publish_by(returned->reader,
                                               &(struct gputrace_device_synchronization){.call = returned->call});
}

/* It may be another context than the thread's; NULL is the thread's. */
static void publish_named_context_synchronization(const struct driver_return *returned)
{
    const cuCtxSynchronize_v2_params *p = returned->params;
    struct gputrace_device_synchronization waited = {.call = returned->call};
    if (p->ctx && p->ctx != waited.call.context)
        cupti_ids_of_context(p->ctx, &waited.call);
    memory_pools_returned();
    registry_device_synchronization_publish_by(returned->reader, &waited);
}

/* The thread that is in such a call waits. */

static const struct driver_call sync_rows[] = {
    DRIVER_CALL_PTSZ(cuStreamWaitEvent, REGISTRY_BIT(event_wait), publish_event_wait, NULL),
    DRIVER_CALL(cuCtxWaitEvent, REGISTRY_BIT(event_wait), publish_context_wait, NULL),
    DRIVER_CALL(cuGreenCtxWaitEvent, REGISTRY_BIT(event_wait), publish_green_context_wait, NULL),
    DRIVER_CALL_PTSZ(cuStreamSynchronize, WAITS(stream_synchronization), publish_stream_synchronization, NULL),
    DRIVER_CALL_PTSZ(cuStreamQuery, REGISTRY_BIT(stream_query), publish_stream_query, NULL),
    DRIVER_CALL(cuCtxSynchronize, WAITS(device_synchronization), publish_context_synchronization, NULL),
    DRIVER_CALL(cuCtxSynchronize_v2, WAITS(device_synchronization), publish_named_context_synchronization, NULL),
};

const struct driver_calls sync_calls = DRIVER_CALLS(sync_rows);
