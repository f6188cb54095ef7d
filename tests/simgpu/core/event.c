#include "core/event.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/api.h"
#include "core/capture.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/context.h"
#include "core/records.h"
#include "core/sim.h"
#include "core/stream.h"
#include "core/work.h"

static atomic_uint events_made;
static atomic_uint_least64_t recordings;

CUevent event_create(CUcontext context, unsigned flags)
{
    CUevent event = calloc(1, sizeof(*event));
    if (!event)
        abort();
    event->context = context;
    event->id = atomic_fetch_add(&events_made, 1) + 1;
    event->flags = flags;
    return event;
}

void event_destroy(CUevent event)
{
    sim_lock();
    work_drop(event->work);
    sim_unlock();
    list_release(&event->captured);
    free(event);
}

CUresult event_record(CUevent event, CUstream stream)
{
    if (!stream)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stream->capture)
        return capture_record(stream, event);
    if (stream == stream->context->null_stream && capture_refuse_implicit(stream->context) != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    event->capture = 0;
    event->sync_id = atomic_fetch_add(&recordings, 1) + 1;
    event->stream_id = stream->id;
    struct op op = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .event = event};
    struct record_origin origin = {.stream = stream, .correlation = api_correlation()};
    struct activity_slot slot = records_begin(&op, &origin);
    sim_lock();
    struct work *item = work_new(&op);
    item->earliest = clock_now() + config()->launch_ns;
    item->slot = slot;
    stream_append(stream, item);
    work_replace(&event->work, item);
    work_start(item);
    work_drop(item);
    sim_unlock();
    return CUDA_SUCCESS;
}

CUresult event_wait(CUevent event, CUstream stream)
{
    if (!stream)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (event->capture)
        return capture_join(stream, event);
    struct op op = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .event = event};
    sim_lock();
    struct work *item = work_new(&op);
    work_depend(item, event->work);
    stream_append(stream, item);
    work_start(item);
    work_drop(item);
    sim_unlock();
    return CUDA_SUCCESS;
}

CUresult event_record_context(CUevent event, CUcontext context)
{
    CUresult result = capture_refuse_context(context);
    if (result != CUDA_SUCCESS)
        return result;
    event->capture = 0;
    event->sync_id = atomic_fetch_add(&recordings, 1) + 1;
    event->stream_id = context->null_stream->id;
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .event = event};
    sim_lock();
    struct work *item = work_new(&op);
    item->earliest = clock_now() + config()->launch_ns;
    for (size_t i = 0; i < context->streams.count; i++)
        work_depend(item, ((CUstream)context->streams.items[i])->tail);
    work_replace(&event->work, item);
    work_start(item);
    work_drop(item);
    sim_unlock();
    return CUDA_SUCCESS;
}

CUresult event_wait_context(CUevent event, CUcontext context)
{
    CUresult result = capture_refuse_context(context);
    if (result == CUDA_SUCCESS)
        result = capture_refuse_event(event);
    if (result != CUDA_SUCCESS)
        return result;
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .event = event};
    sim_lock();
    for (size_t i = 0; i < context->streams.count; i++) {
        struct work *item = work_new(&op);
        work_depend(item, event->work);
        stream_append(context->streams.items[i], item);
        work_start(item);
        work_drop(item);
    }
    sim_unlock();
    return CUDA_SUCCESS;
}

bool event_complete(CUevent event)
{
    sim_lock();
    bool complete = !event->work || event->work->done;
    sim_unlock();
    return complete;
}

void event_synchronize(CUevent event)
{
    sim_lock();
    work_wait(event->work);
    sim_unlock();
}

CUresult event_elapsed(CUevent first, CUevent second, float *milliseconds)
{
    if ((first->flags | second->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = CUDA_SUCCESS;
    sim_lock();
    if (!first->work || !second->work)
        result = CUDA_ERROR_INVALID_HANDLE;
    else if (!first->work->done || !second->work->done)
        result = CUDA_ERROR_NOT_READY;
    else
        *milliseconds = (float)((double)(int64_t)(second->work->end - first->work->end) * 1e-6);
    sim_unlock();
    return result;
}
