/*
 * The sections whose tables analysis/ranks makes: communication by communicator, operation, size and type (comm.h); the
 * ranks of the trace (ranks.h); the stages of a pipeline (stages.h); and hangs (hang_table.h): for each communicator
 * with an operation that ranks entered and did not finish, who waits, who never entered it or entered another one, and
 * what those ranks did. The latter is empty where all operations were finished.
 */
#include "analysis/comm/collectives.h"
#include "analysis/hang/hang_facts.h"
#include "analysis/engine/section.h"
#include "analysis/ranks/comm.h"
#include "analysis/hang/hang_table.h"
#include "analysis/ranks/ranks.h"
#include "analysis/ranks/ranks_of_trace.h"
#include "analysis/ranks/stages.h"

struct comm_state {
    struct collectives collectives; /* the first member, so that section_state() is a struct collectives */
    struct comm comm;
};

static void init_comm(void *context, const struct trace *trace)
{
    struct comm_state *state = context;
    collectives_init(&state->collectives, trace->space);
}

static void release_comm(void *context)
{
    struct comm_state *state = context;
    collectives_release(&state->collectives);
    comm_release(&state->comm);
}

static int event_comm(void *context, const struct trace *trace, const struct event_fields *event)
{
    struct comm_state *state = context;
    bool passes = event->category != CATEGORY_KERNEL && !event_communicates(event);
    return passes ? 0 : collectives_event(&state->collectives, trace, event);
}

static int gather_comm(void *context, const struct trace *trace)
{
    struct comm_state *state = context;
    return collectives_gather(&state->collectives, trace) ?: comm_gather(&state->comm, &state->collectives);
}

static void finish_comm(struct report_row *row)
{
    comm_fill(row, &((const struct comm_state *)row->state)->comm);
}

const struct section section_comm = {
    SECTION_COLUMNS(comm_columns),
    .state_size = sizeof(struct comm_state),
    .parts = TRACE_KERNEL,
    .sort = COMM_SORT,
    .categories = COLLECTIVE_CATEGORIES,
    .indexes = {.timeline = true},
    .init = init_comm,
    .event = event_comm,
    .gather = gather_comm,
    .finish = finish_comm,
    .release = release_comm,
};

static int gather_ranks(void *state, const struct trace *trace)
{
    return rank_times_gather(state, trace);
}

static void release_ranks(void *state)
{
    rank_times_release(state);
}

static void finish_ranks(struct report_row *row)
{
    struct ranks ranks = {0};
    int status = ranks_of_trace(&ranks, row->trace);
    bool alone =
        row->trace->options->usual && ranks.items.count < 2; /* the first screen leaves out a rank without others */
    if (status == 0 && !alone)
        status = ranks_fill(row, &ranks);
    ranks_release(&ranks);
    row->table->no_memory |= status < 0;
}

const struct section section_ranks = {
    SECTION_COLUMNS(ranks_columns),
    .usual = 4,
    .state_size = sizeof(struct rank_times),
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .indexes = {.timeline = true},
    .needs = REPORT_BIT(REPORT_COMM) | REPORT_BIT(REPORT_STEPS) | REPORT_BIT(REPORT_IDLE),
    .gather = gather_ranks,
    .finish = finish_ranks,
    .release = release_ranks,
};

static void finish_stages(struct report_row *row)
{
    struct ranks ranks = {0};
    int status = ranks_of_trace(&ranks, row->trace) ?: stages_fill(row, &ranks);
    ranks_release(&ranks);
    row->table->no_memory |= status < 0;
}

const struct section section_stages = {
    SECTION_COLUMNS(stages_columns),
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .indexes = {.timeline = true},
    .needs = REPORT_BIT(REPORT_RANKS) | REPORT_BIT(REPORT_COMM) | REPORT_BIT(REPORT_STEPS) | REPORT_BIT(REPORT_IDLE),
    .finish = finish_stages,
};

static int event_hang(void *context, const struct trace *trace, const struct event_fields *event)
{
    return hang_facts_event(&((struct hang_state *)context)->facts, &trace->strings, event);
}

static void release_hang(void *context)
{
    struct hang_state *state = context;
    hang_facts_release(&state->facts);
    hangs_release(&state->hangs);
}

static void finish_hang(struct report_row *row)
{
    const struct hangs *hangs = hangs_found(row->trace);
    row->table->no_memory |= !hangs;
    if (hangs)
        hang_fill(row, hangs);
}

const struct section section_hang = {
    SECTION_COLUMNS(hang_columns),
    .listing = true,
    .paragraphs = true,
    .categories = HANG_FACTS_CATEGORIES,
    .state_size = sizeof(struct hang_state),
    .indexes = {.stacks = true},
    .needs = REPORT_BIT(REPORT_COMM), /* all operations */
    .event = event_hang,
    .finish = finish_hang,
    .release = release_hang,
};
