#include "analysis/model/computing.h"

#include "common/lookup.h"
#include "analysis/base/cost_sum.h"
#include "analysis/model/temporal.h"
#include "analysis/model/trace.h"

struct point {
    int64_t time;
    uint64_t number;
    uint32_t device;
    bool end;
};

static int by_device_and_time(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    return ORDER(a->device, b->device)
               ?: ORDER(a->time, b->time) ?: ORDER(a->number, b->number) ?: ORDER(a->end, b->end);
}

void computing_init(struct computing *computing, struct sorter_space *space)
{
    sorter_init(&computing->points, space, sizeof(struct point), by_device_and_time);
}

int computing_add(struct computing *computing, uint64_t number, uint32_t device, int64_t start, int64_t end)
{
    const struct point points[] = {{start, number, device, false}, {end, number, device, true}};
    return sorter_add(&computing->points, &points[0]) ?: sorter_add(&computing->points, &points[1]);
}

/* Where the walk over the timeline is. */
struct state {
    const struct trace *trace;
    struct sorter_walk walk;
    const struct timeline_op *next;
    struct temporal_names names;
    uint32_t device;
    int64_t total, until; /* ns computed up to UNTIL, where the last computation ends */
    bool any, no_memory;
};

static void add_op(struct state *state, const struct timeline_op *op)
{
    if (!state->any || op->device != state->device) {
        state->any = true;
        state->device = op->device;
        state->total = 0;
        state->until = INT64_MIN;
    }
    unsigned kind = temporal_kind(&state->names, state->trace, op);
    state->no_memory |= kind == 0;
    if (kind != TEMPORAL_COMPUTE)
        return;
    int64_t from = op->start > state->until ? op->start : state->until;
    if (op->end > from) {
        sum_add(&state->total, op->end - from);
        state->until = op->end;
    }
}

/* What the GPU had computed on DEVICE by TIME, ns. Devices and times come in rising order. */
static int64_t computed_by(struct state *state, uint32_t device, int64_t time)
{
    const struct timeline_op *op = state->next;
    while (op && (op->device < device || (op->device == device && op->start <= time))) {
        add_op(state, op);
        op = sorter_next(&state->walk);
    }
    state->next = op;
    if (!state->any || state->device != device)
        return 0;
    return state->total - (state->until > time ? state->until - time : 0);
}

int computing_gather(struct computing *computing, const struct trace *trace, const struct computing_answer *answer)
{
    struct state state = {.trace = trace};
    struct sorter_walk walk;
    const struct point *point;
    if (sorter_ready(&computing->points) < 0)
        return -1;
    sorter_walk_begin(&state.walk, &trace->timeline);
    sorter_walk_begin(&walk, &computing->points);
    state.next = sorter_next(&state.walk);
    while (!state.no_memory && (point = sorter_next(&walk)))
        answer->take(answer->context, point->number, point->end, computed_by(&state, point->device, point->time));
    array_release(&state.names.communication);
    int points = sorter_walk_end(&walk), ops = sorter_walk_end(&state.walk);
    return points || ops || state.no_memory ? -1 : 0;
}
