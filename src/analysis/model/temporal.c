#include "analysis/model/temporal.h"

#include "analysis/model/trace.h"

#define KINDS 4

/* Where the walk is on a device. */
struct state {
    struct temporal *temporal;
    const struct trace *trace;
    ARRAY(char) communication; /* of each name: 0 not asked, 1 no, 2 yes */
    struct temporal_device *device;
    uint32_t number;
    int64_t time;
    int64_t until[KINDS]; /* when the operations of a kind so far end */
};

/* A bit; 0: no memory. */
static unsigned kind_of(struct state *state, const struct timeline_op *op)
{
    if (op->category == CATEGORY_GPU_MEMCPY)
        return TEMPORAL_COPY;
    if (op->category == CATEGORY_GPU_MEMSET)
        return TEMPORAL_SET;
    while (op->name != EVENT_NO_TEXT && state->communication.count <= op->name)
        if (!array_push(&state->communication))
            return 0;
    if (op->name == EVENT_NO_TEXT)
        return TEMPORAL_COMPUTE;
    char *known = &state->communication.items[op->name];
    if (!*known)
        *known = timeline_is_communication(interned(&state->trace->strings, op->name)) ? 2 : 1;
    return *known == 2 ? TEMPORAL_COMMUNICATION : TEMPORAL_COMPUTE;
}

/* Adds the time up to TIME. */
static void pass(struct state *state, int64_t time)
{
    while (state->time < time) {
        int64_t next = time;
        unsigned running = 0;
        for (unsigned i = 0; i < KINDS; i++) {
            if (state->until[i] <= state->time)
                continue;
            running |= 1u << i;
            next = state->until[i] < next ? state->until[i] : next;
        }
        if (running)
            state->device->times[running] += next - state->time;
        state->time = next;
    }
}

static int begin_device(struct state *state, const struct timeline_op *op)
{
    while (state->temporal->devices.count <= op->device)
        if (!array_push(&state->temporal->devices))
            return -1;
    state->device = &state->temporal->devices.items[op->device];
    *state->device = (struct temporal_device){.used = true, .first = op->start, .last = op->end};
    state->number = op->device;
    state->time = op->start;
    for (unsigned i = 0; i < KINDS; i++)
        state->until[i] = op->start;
    return 0;
}

static int add_op(struct state *state, const struct timeline_op *op)
{
    if (!state->device || op->device != state->number) {
        if (state->device)
            pass(state, state->device->last);
        if (begin_device(state, op) < 0)
            return -1;
    }
    unsigned kind = kind_of(state, op);
    if (kind == 0)
        return -1;
    pass(state, op->start);
    int64_t *until = &state->until[__builtin_ctz(kind)];
    *until = op->end > *until ? op->end : *until;
    state->device->last = op->end > state->device->last ? op->end : state->device->last;
    return 0;
}

int temporal_gather(struct temporal *temporal, const struct trace *trace)
{
    struct state state = {.temporal = temporal, .trace = trace};
    struct sorter_walk walk;
    const struct timeline_op *op;
    int status = 0;
    sorter_walk_begin(&walk, &trace->timeline);
    while (status == 0 && (op = sorter_next(&walk)))
        status = add_op(&state, op);
    if (status == 0 && state.device)
        pass(&state, state.device->last);
    array_release(&state.communication);
    int walked = sorter_walk_end(&walk);
    return status ? status : walked;
}

int64_t temporal_any(const struct temporal_device *device, unsigned kinds)
{
    return temporal_both(device, kinds, kinds);
}

int64_t temporal_alone(const struct temporal_device *device, unsigned kinds)
{
    int64_t time = 0;
    for (unsigned i = 1; i <= TEMPORAL_ALL; i++)
        time += i & ~kinds ? 0 : device->times[i];
    return time;
}

int64_t temporal_both(const struct temporal_device *device, unsigned kinds, unsigned others)
{
    int64_t time = 0;
    for (unsigned i = 1; i <= TEMPORAL_ALL; i++)
        time += i & kinds && i & others ? device->times[i] : 0;
    return time;
}
