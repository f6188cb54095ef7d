/*
 * One walk over the GPU's timeline, beside the sorted points at which operations start and end: the computing time in
 * an operation is the difference of the running totals at its two points.
 */
#include "analysis/comm/collective_exposed.h"

#include "common/array.h"
#include "analysis/base/cost_sum.h"
#include "analysis/comm/collective.h"
#include "analysis/gpu/temporal.h"
#include "analysis/engine/trace.h"

struct point {
    int64_t time;
    uint64_t number;
    uint32_t device;
    bool end;
};

ORDER_BY(by_device_and_time, struct point, device, time, number, end)

/* The walk over the timeline. */
struct busy_walk {
    const struct trace *trace;
    struct sorter_walk walk;
    const struct timeline_op *next;
    struct temporal_names names;
    uint32_t device;
    int64_t total, until; /* ns computed up to UNTIL, where the last computation ends */
    bool any, no_memory;
};

static void add_op(struct busy_walk *busy, const struct timeline_op *op)
{
    if (!busy->any || op->device != busy->device) {
        busy->any = true;
        busy->device = op->device;
        busy->total = 0;
        busy->until = INT64_MIN;
    }
    unsigned kind = temporal_kind(&busy->names, busy->trace, op);
    busy->no_memory |= kind == 0;
    if (kind != TEMPORAL_COMPUTE)
        return;
    int64_t from = op->start > busy->until ? op->start : busy->until;
    if (op->end > from) {
        sum_add(&busy->total, op->end - from);
        busy->until = op->end;
    }
}

/* Returns how long DEVICE had computed by TIME; ns. Devices and times come in rising order. */
static int64_t computed_by(struct busy_walk *busy, uint32_t device, int64_t time)
{
    const struct timeline_op *op = busy->next;
    while (op && (op->device < device || (op->device == device && op->start <= time))) {
        add_op(busy, op);
        op = sorter_next(&busy->walk);
    }
    busy->next = op;
    if (!busy->any || busy->device != device)
        return 0;
    return busy->total - (busy->until > time ? busy->until - time : 0);
}

int collectives_expose(struct collective *items, size_t count, const struct trace *trace)
{
    struct busy_walk busy = {.trace = trace};
    struct sorter points;
    struct sorter_walk walk;
    const struct point *point;
    int status = 0;
    sorter_init(&points, trace->space, sizeof(struct point), by_device_and_time);
    for (size_t i = 0; i < count && status == 0; i++) {
        const struct collective *one = &items[i];
        if (one->start == FIELD_ABSENT || one->device == COLLECTIVE_NO_INDEX)
            continue;
        const struct point ends[] = {{one->start, i, one->device, false},
                                     {one->start + one->duration, i, one->device, true}};
        status = sorter_add(&points, &ends[0]) ?: sorter_add(&points, &ends[1]);
    }
    status = status ?: sorter_ready(&points);
    if (status == 0) {
        sorter_walk_begin(&busy.walk, &trace->timeline);
        sorter_walk_begin(&walk, &points);
        busy.next = sorter_next(&busy.walk);
        while (!busy.no_memory && (point = sorter_next(&walk))) {
            struct collective *one = &items[point->number];
            int64_t computed = computed_by(&busy, point->device, point->time);
            /* Until the end is known, `exposed` is what was computed by the start. */
            one->exposed = point->end ? one->duration - (computed - one->exposed) : computed;
        }
        array_release(&busy.names.communication);
        int walked = sorter_walk_end(&walk), ops = sorter_walk_end(&busy.walk);
        status = walked || ops || busy.no_memory ? -1 : 0;
    }
    sorter_release(&points);
    return status;
}
