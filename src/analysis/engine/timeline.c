/*
 * Joins operations with their calls and sorts them by device and time; sorts calls by thread and time.
 */
#include "analysis/engine/timeline.h"

#include "common/array.h"
#include "trace/event_fields.h"

ORDER_BY(by_device_and_time, struct timeline_op, device, start, end, order)

void timeline_init(struct sorter *timeline, struct sorter_space *space)
{
    sorter_init(timeline, space, sizeof(struct timeline_op), by_device_and_time);
}

struct gathering {
    struct sorter *timeline;
    const struct timeline_sources *parts;
};

static int add_op(void *context, const struct gpu_op *op, const struct call *call)
{
    struct gathering *gathering = context;
    const struct timeline_sources *parts = gathering->parts;
    struct timeline_op one = {
        .start = op->start,
        .end = op->start + op->duration,
        .called = call ? call->start : FIELD_ABSENT,
        .returned = call ? call->end : FIELD_ABSENT,
        .size = op->size,
        .device = op->device,
        .stream = op->stream,
        .thread = call ? call->thread : LAUNCHED_NO_THREAD,
        .call = call ? call->name : EVENT_NO_TEXT,
        .name = op->name,
        .correlation = op->is_correlated ? op->correlation : 0,
        .order = op->order,
        .category = op->category,
        .kind = call ? (uint8_t)call_kinds_find(parts->kinds, parts->strings, call->name) : CALL_OTHER,
    };
    return sorter_add(gathering->timeline, &one);
}

int timeline_gather(struct sorter *timeline, const struct timeline_sources *parts)
{
    struct gathering gathering = {timeline, parts};
    int status = gpu_ops_each(parts->gpu_ops, parts->calls, parts->owners, add_op, &gathering);
    return status ?: sorter_ready(timeline);
}

/* --- */

static int by_thread_and_start(const void *left, const void *right)
{
    const struct host_call *a = left, *b = right;
    return ORDER(a->thread, b->thread) ?: ORDER(a->start, b->start) ?: ORDER(b->end, a->end) ?: ORDER(a->name, b->name);
}

void host_calls_init(struct sorter *host_calls, struct sorter_space *space)
{
    sorter_init(host_calls, space, sizeof(struct host_call), by_thread_and_start);
}

void host_calls_walk_begin(struct host_calls_walk *walk, const struct sorter *host_calls)
{
    *walk = (struct host_calls_walk){0};
    sorter_walk_begin(&walk->walk, host_calls);
}

const struct host_call *host_calls_next(struct host_calls_walk *walk)
{
    const struct host_call *call;
    while ((call = sorter_next(&walk->walk))) {
        if (walk->any && call->thread == walk->thread && call->end <= walk->end)
            continue;
        walk->any = true;
        walk->thread = call->thread;
        walk->end = call->end;
        return call;
    }
    return NULL;
}
