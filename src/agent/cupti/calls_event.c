/* Events: made, recorded, waited for by the thread, asked for, destroyed. A stream's wait is in calls_sync.c. */
#include "agent/cupti/captures.h"
#include "agent/cupti/driver_calls.h"

static void tell_creation(const struct driver_return *returned)
{
    const cuEventCreate_params *p = returned->params;
    registry_event_creation_publish_by(returned->reader, &(struct gputrace_event_creation){
                                                             .call = returned->call,
                                                             .event = driver_call_done(returned) ? *p->phEvent : NULL,
                                                             .flags = p->Flags,
                                                         });
}

static void tell_deletion(const struct driver_return *returned)
{
    const cuEventDestroy_v2_params *p = returned->params;
    registry_event_deletion_publish_by(returned->reader,
                                       &(struct gputrace_event_deletion){.call = returned->call, .event = p->hEvent});
}

static void tell_record_in(const struct driver_return *returned, CUevent event, CUstream given, uint32_t flags)
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

static void tell_record(const struct driver_return *returned)
{
    const cuEventRecord_params *p = returned->params;
    tell_record_in(returned, p->hEvent, p->hStream, 0);
}

static void tell_record_with_flags(const struct driver_return *returned)
{
    const cuEventRecordWithFlags_params *p = returned->params;
    tell_record_in(returned, p->hEvent, p->hStream, p->flags);
}

static struct gputrace_event_record whole_record(const struct driver_return *returned, CUevent event)
{
    return (struct gputrace_event_record){
        .call = returned->call, .event = event, .whole_context = 1, .stream_id = GPUTRACE_NO_STREAM};
}

static void tell_context_record(const struct driver_return *returned)
{
    const cuCtxRecordEvent_params *p = returned->params;
    struct gputrace_event_record record = whole_record(returned, p->hEvent);
    cupti_ids_of_context(p->hCtx, &record.call);
    registry_event_record_publish_by(returned->reader, &record);
}

/* The number of a green context's CUcontext is not to be had without calling CUDA: the call's stays the thread's. */
static void tell_green_context_record(const struct driver_return *returned)
{
    const cuGreenCtxRecordEvent_params *p = returned->params;
    struct gputrace_event_record record = whole_record(returned, p->hEvent);
    registry_event_record_publish_by(returned->reader, &record);
}

static void tell_synchronization(const struct driver_return *returned)
{
    const cuEventSynchronize_params *p = returned->params;
    registry_event_synchronization_publish_by(
        returned->reader, &(struct gputrace_event_synchronization){.call = returned->call, .event = p->hEvent});
}

static void tell_query(const struct driver_return *returned)
{
    const cuEventQuery_params *p = returned->params;
    registry_event_query_publish_by(returned->reader,
                                    &(struct gputrace_event_query){.call = returned->call, .event = p->hEvent});
}

/* When it succeeds both events are done; when it fails it does not say which of them is not. */
static void tell_elapsed_time(const struct driver_return *returned)
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

static const struct driver_call rows[] = {
    DRIVER_CALL(cuEventCreate, REGISTRY_BIT(event_creation), tell_creation, NULL),
    DRIVER_CALL(cuEventDestroy, REGISTRY_BIT(event_deletion), tell_deletion, NULL),
    DRIVER_CALL(cuEventDestroy_v2, REGISTRY_BIT(event_deletion), tell_deletion, NULL),
    DRIVER_CALL_PTSZ_BRIEF(cuEventRecord, REGISTRY_BIT(event_record), tell_record),
    DRIVER_CALL_PTSZ_BRIEF(cuEventRecordWithFlags, REGISTRY_BIT(event_record), tell_record_with_flags),
    DRIVER_CALL(cuCtxRecordEvent, REGISTRY_BIT(event_record), tell_context_record, NULL),
    DRIVER_CALL(cuGreenCtxRecordEvent, REGISTRY_BIT(event_record), tell_green_context_record, NULL),
    DRIVER_CALL(cuEventSynchronize, WAITS(event_synchronization), tell_synchronization, NULL),
    DRIVER_CALL(cuEventQuery, REGISTRY_BIT(event_query), tell_query, NULL),
    DRIVER_CALL(cuEventElapsedTime, REGISTRY_BIT(event_query), tell_elapsed_time, NULL),
    DRIVER_CALL(cuEventElapsedTime_v2, REGISTRY_BIT(event_query), tell_elapsed_time, NULL),
};

const struct driver_calls event_calls = DRIVER_CALLS(rows);
