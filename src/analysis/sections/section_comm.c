/* Communication by communicator, operation, size and type (analysis/ranks/comm.h). */
#include "analysis/model/section.h"
#include "analysis/ranks/comm.h"

struct state {
    struct collectives collectives; /* first: section_state() is one */
    struct comm comm;
};

static void init(void *context, const struct trace *trace)
{
    struct state *state = context;
    collectives_init(&state->collectives, trace->space);
}

static void release(void *context)
{
    struct state *state = context;
    collectives_release(&state->collectives);
    comm_release(&state->comm);
}

static int event(void *context, const struct trace *trace, const struct event_fields *event)
{
    struct state *state = context;
    bool passes = event->collective == EVENT_NO_TEXT && event->category != CATEGORY_KERNEL;
    return passes ? 0 : collectives_event(&state->collectives, trace, event);
}

static int gather(void *context, const struct trace *trace)
{
    struct state *state = context;
    return collectives_gather(&state->collectives, trace) ?: comm_gather(&state->comm, &state->collectives);
}

static int finish(struct report_row *row)
{
    return comm_fill(row, &((const struct state *)row->state)->comm);
}

const struct section section_comm = {
    SECTION_COLUMNS(comm_columns),
    .state_size = sizeof(struct state),
    .parts = TRACE_KERNEL,
    .sort = COMM_SORT,
    .categories = COLLECTIVE_CATEGORIES,
    .looks_at = {.timeline = true},
    .init = init,
    .event = event,
    .gather = gather,
    .finish = finish,
    .release = release,
};
