/* Walks over operations by start, and adds the time up to each start to the combination of kinds that was running. */
#include "analysis/gpu/temporal.h"

#include "analysis/base/cost_sum.h"
#include "analysis/engine/trace.h"
#include "analysis/names/name_facts.h"

int temporal_communicates(struct temporal_names *names, const struct trace *trace, uint32_t name)
{
    if (name == EVENT_NO_TEXT)
        return 0;
    char *known = array_at(&names->communication, name);
    if (!known)
        return -1;
    if (!*known)
        *known = communication_is_kernel(interned(&trace->strings, name)) ? 2 : 1;
    return *known == 2;
}

unsigned temporal_kind(struct temporal_names *names, const struct trace *trace, const struct timeline_op *op)
{
    if (op->category == CATEGORY_GPU_MEMCPY)
        return TEMPORAL_COPY;
    if (op->category == CATEGORY_GPU_MEMSET)
        return TEMPORAL_SET;
    int communicates = temporal_communicates(names, trace, op->name);
    return communicates < 0 ? 0 : communicates ? TEMPORAL_COMMUNICATION : TEMPORAL_COMPUTE;
}

/* --- lanes --- */

/* Adds the time from lane->time to TIME to the combinations of kinds that were running. */
static void pass(struct temporal_lane *lane, int64_t time)
{
    while (lane->time < time) {
        int64_t next = time;
        unsigned running = 0;
        for (unsigned i = 0; i < TEMPORAL_KINDS; i++) {
            if (lane->until[i] <= lane->time)
                continue;
            running |= 1u << i;
            next = lane->until[i] < next ? lane->until[i] : next;
        }
        if (running)
            sum_add(&lane->to->times[running], next - lane->time);
        lane->time = next;
    }
}

void temporal_lane_begin(struct temporal_lane *lane, struct temporal_device *to, const struct timeline_op *op)
{
    lane->to = to;
    lane->time = op->start;
    for (unsigned i = 0; i < TEMPORAL_KINDS; i++)
        lane->until[i] = op->start;
    if (!to->used || op->start < to->first)
        to->first = op->start;
    if (!to->used || op->end > to->last)
        to->last = op->end;
    to->used = true;
}

void temporal_lane_add(struct temporal_lane *lane, unsigned kind, const struct timeline_op *op)
{
    int64_t *until = &lane->until[__builtin_ctz(kind)];
    pass(lane, op->start);
    *until = op->end > *until ? op->end : *until;
    lane->to->last = op->end > lane->to->last ? op->end : lane->to->last;
}

void temporal_lane_end(struct temporal_lane *lane)
{
    if (lane->to)
        pass(lane, lane->to->last);
    lane->to = NULL;
}

/* --- GPUs --- */

struct lanes_walk {
    struct temporal *temporal;
    const struct trace *trace;
    struct temporal_names names;
    struct temporal_lane lane;
    uint32_t device;  /* of `lane` */
    int64_t from, to; /* only the time from `from` to `to` is added */
};

static int add_op(struct lanes_walk *lanes, const struct timeline_op *whole)
{
    struct temporal *temporal = lanes->temporal;
    struct timeline_op clipped = *whole, *op = &clipped;
    op->start = op->start > lanes->from ? op->start : lanes->from;
    op->end = op->end < lanes->to ? op->end : lanes->to;
    if (op->start > op->end)
        return 0;
    if (!lanes->lane.to || op->device != lanes->device) {
        temporal_lane_end(&lanes->lane);
        struct temporal_device *to = array_at(&temporal->devices, op->device);
        if (!to)
            return -1;
        temporal_lane_begin(&lanes->lane, to, op);
        lanes->device = op->device;
    }
    unsigned kind = temporal_kind(&lanes->names, lanes->trace, op);
    if (kind == 0)
        return -1;
    temporal_lane_add(&lanes->lane, kind, op);
    return 0;
}

int temporal_gather(struct temporal *temporal, const struct trace *trace, int64_t from, int64_t to)
{
    struct lanes_walk lanes = {.temporal = temporal, .trace = trace, .from = from, .to = to};
    const struct timeline_op *op;
    int status = SORTER_EACH(&trace->timeline, op, add_op(&lanes, op));
    temporal_lane_end(&lanes.lane);
    array_release(&lanes.names.communication);
    return status;
}

int64_t temporal_any(const struct temporal_device *device, unsigned kinds)
{
    return temporal_both(device, kinds, kinds);
}

int64_t temporal_alone(const struct temporal_device *device, unsigned kinds)
{
    int64_t time = 0;
    for (unsigned i = 1; i <= TEMPORAL_ALL; i++)
        sum_add(&time, i & ~kinds ? 0 : device->times[i]);
    return time;
}

int64_t temporal_both(const struct temporal_device *device, unsigned kinds, unsigned others)
{
    int64_t time = 0;
    for (unsigned i = 1; i <= TEMPORAL_ALL; i++)
        sum_add(&time, i & kinds && i & others ? device->times[i] : 0);
    return time;
}
