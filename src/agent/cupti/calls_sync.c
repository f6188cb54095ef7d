/* Who waits for whom: the thread for a stream or a context, a stream for an event. */
#include "agent/cupti/captures.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/memory_pools.h"

static void tell_event_wait(const struct driver_return *returned)
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

static void tell_context_wait(const struct driver_return *returned)
{
    const cuCtxWaitEvent_params *p = returned->params;
    struct gputrace_event_wait wait = whole_wait(returned, p->hEvent);
    cupti_ids_of_context(p->hCtx, &wait.call);
    registry_event_wait_publish_by(returned->reader, &wait);
}

static void tell_green_context_wait(const struct driver_return *returned)
{
    const cuGreenCtxWaitEvent_params *p = returned->params;
    struct gputrace_event_wait wait = whole_wait(returned, p->hEvent);
    registry_event_wait_publish_by(returned->reader, &wait);
}

static void tell_stream_synchronization(const struct driver_return *returned)
{
    const cuStreamSynchronize_params *p = returned->params;
    CUstream stream = driver_call_stream(returned, p->hStream);
    memory_pools_returned();
    registry_stream_synchronization_publish_by(
        returned->reader,
        &(struct gputrace_stream_synchronization){
            .call = returned->call, .stream = stream, .stream_id = driver_call_stream_id(returned, stream)});
}

static void tell_stream_query(const struct driver_return *returned)
{
    const cuStreamQuery_params *p = returned->params;
    registry_stream_query_publish_by(
        returned->reader,
        &(struct gputrace_stream_query){.call = returned->call, .stream = driver_call_stream(returned, p->hStream)});
}

static void tell_context_synchronization(const struct driver_return *returned)
{
    memory_pools_returned();
    registry_device_synchronization_publish_by(returned->reader,
                                               &(struct gputrace_device_synchronization){.call = returned->call});
}

/* It may be another context than the thread's; NULL is the thread's. */
static void tell_named_context_synchronization(const struct driver_return *returned)
{
    const cuCtxSynchronize_v2_params *p = returned->params;
    struct gputrace_device_synchronization waited = {.call = returned->call};
    if (p->ctx && p->ctx != waited.call.context)
        cupti_ids_of_context(p->ctx, &waited.call);
    memory_pools_returned();
    registry_device_synchronization_publish_by(returned->reader, &waited);
}

/* The thread that is in such a call waits. */
#define WAITS(kind) (REGISTRY_BIT(kind) | REGISTRY_BIT(open_call))

static const struct driver_call rows[] = {
    DRIVER_CALL_PTSZ(cuStreamWaitEvent, REGISTRY_BIT(event_wait), tell_event_wait, NULL),
    DRIVER_CALL(cuCtxWaitEvent, REGISTRY_BIT(event_wait), tell_context_wait, NULL),
    DRIVER_CALL(cuGreenCtxWaitEvent, REGISTRY_BIT(event_wait), tell_green_context_wait, NULL),
    DRIVER_CALL_PTSZ(cuStreamSynchronize, WAITS(stream_synchronization), tell_stream_synchronization, NULL),
    DRIVER_CALL_PTSZ(cuStreamQuery, REGISTRY_BIT(stream_query), tell_stream_query, NULL),
    DRIVER_CALL(cuCtxSynchronize, WAITS(device_synchronization), tell_context_synchronization, NULL),
    DRIVER_CALL(cuCtxSynchronize_v2, WAITS(device_synchronization), tell_named_context_synchronization, NULL),
};

const struct driver_calls sync_calls = DRIVER_CALLS(rows);
