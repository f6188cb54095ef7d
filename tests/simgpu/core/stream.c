#include "core/stream.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/api.h"
#include "core/capture.h"
#include "core/callbacks.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/context.h"
#include "core/records.h"
#include "core/sim.h"
#include "core/work.h"

/* The first context's driver streams are 6 and 8 to 12, its default stream is 7, and its first own stream 13. */
enum { FIRST_ID = 6, NULL_STREAM_AT = 1, CONTEXT_IDS = 7 };

static atomic_uint next_id = FIRST_ID;

static CUstream stream_new(CUcontext context, uint32_t id, unsigned flags, int priority)
{
    CUstream stream = calloc(1, sizeof(*stream));
    if (!stream)
        abort();
    stream->context = context;
    stream->id = id;
    stream->flags = flags;
    stream->priority = priority;
    sim_lock();
    list_add(&context->streams, stream);
    sim_unlock();
    return stream;
}

void stream_create_null(CUcontext context)
{
    uint32_t first = atomic_fetch_add(&next_id, CONTEXT_IDS);
    context->null_stream = stream_new(context, first + NULL_STREAM_AT, CU_STREAM_DEFAULT, 0);
    records_stream(context->null_stream);
}

CUstream stream_create(CUcontext context, unsigned flags, int priority)
{
    CUstream stream = stream_new(context, atomic_fetch_add(&next_id, 1), flags, priority);
    records_stream(stream);
    callbacks_resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, context, stream, NULL);
    return stream;
}

uint32_t stream_take_id(void)
{
    return atomic_fetch_add(&next_id, 1);
}

void stream_destroy(CUstream stream)
{
    bool programs_own = stream != stream->context->null_stream && !stream->owner;
    if (programs_own || !stream->context->primary) /* of CUDA's own, CUPTI tells where cuCtxCreate made the context */
        callbacks_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, stream->context, stream, NULL);
    capture_forget_stream(stream);
    sim_lock();
    list_remove(&stream->context->streams, stream);
    work_drop(stream->tail);
    sim_unlock();
    list_release(&stream->captured);
    free(stream);
}

static CUstream stream_of_thread(CUcontext context)
{
    pid_t thread = gettid();
    CUstream found = NULL;
    sim_lock();
    for (size_t i = 0; i < context->streams.count && !found; i++) {
        CUstream stream = context->streams.items[i];
        if (stream->owner == thread)
            found = stream;
    }
    sim_unlock();
    if (!found) {
        found = stream_new(context, atomic_fetch_add(&next_id, 1), CU_STREAM_DEFAULT, 0);
        found->owner = thread;
    }
    return found;
}

CUstream stream_resolve(CUstream handle, bool per_thread)
{
    if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD)
        return handle;
    CUcontext context = context_current();
    if (!context || context->destroyed)
        return NULL;
    if (handle == CU_STREAM_PER_THREAD || (!handle && per_thread))
        return stream_of_thread(context);
    return context->null_stream;
}

void stream_append(CUstream stream, struct work *item)
{
    CUcontext context = stream->context;
    work_depend(item, stream->tail);
    if (stream == context->null_stream) {
        for (size_t i = 0; i < context->streams.count; i++) {
            CUstream other = context->streams.items[i];
            if (!(other->flags & CU_STREAM_NON_BLOCKING))
                work_depend(item, other->tail);
        }
    } else if (!(stream->flags & CU_STREAM_NON_BLOCKING)) {
        work_depend(item, context->null_stream->tail);
    }
    work_replace(&stream->tail, item);
}

CUresult stream_submit(CUstream stream, const struct op *op, bool wait)
{
    if (!stream)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stream->capture)
        return wait ? capture_refuse(stream) : capture_add(stream, op);
    if (stream == stream->context->null_stream && capture_refuse_implicit(stream->context) != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    struct record_origin origin = {.stream = stream, .correlation = api_correlation()};
    struct activity_slot slot = records_begin(op, &origin);
    sim_lock();
    struct work *item = work_new(op);
    item->earliest = clock_now() + config()->launch_ns;
    item->slot = slot;
    item->lost = &stream->context->lost;
    records_fail(item);
    stream_append(stream, item);
    work_start(item);
    if (wait)
        work_wait(item);
    work_drop(item);
    sim_unlock();
    return CUDA_SUCCESS;
}

void stream_wait(CUstream stream)
{
    sim_lock();
    /* The null stream is idle when the blocking streams are: an empty work behind all of them tells. */
    struct op nothing = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    if (stream == stream->context->null_stream) {
        struct work *item = work_new(&nothing);
        stream_append(stream, item);
        work_start(item);
        work_drop(item);
    }
    work_wait(stream->tail);
    sim_unlock();
}

bool stream_idle(CUstream stream)
{
    sim_lock();
    bool idle = !stream->tail || stream->tail->done;
    if (stream == stream->context->null_stream)
        for (size_t i = 0; i < stream->context->streams.count; i++) {
            CUstream other = stream->context->streams.items[i];
            if (!(other->flags & CU_STREAM_NON_BLOCKING) && other->tail && !other->tail->done)
                idle = false;
        }
    sim_unlock();
    return idle;
}
