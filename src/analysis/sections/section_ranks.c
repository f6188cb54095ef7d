/* The ranks of the trace (analysis/ranks/ranks.h), and the stages of a pipeline (analysis/ranks/stages.h). */
#include "analysis/ranks/rank_times.h"
#include "analysis/ranks/ranks.h"
#include "analysis/ranks/stages.h"

static int gather(void *state, const struct trace *trace)
{
    return rank_times_gather(state, trace);
}

static void release(void *state)
{
    rank_times_release(state);
}

static int finish(struct report_row *row)
{
    struct ranks ranks = {0};
    int status = ranks_of_trace(&ranks, row->trace);
    bool alone = row->trace->options->usual && ranks.items.count < 2; /* the first screen compares it with nobody */
    if (status == 0 && !alone)
        status = ranks_fill(row, &ranks);
    ranks_release(&ranks);
    return status;
}

const struct section section_ranks = {
    SECTION_COLUMNS(ranks_columns),
    .usual = 4,
    .state_size = sizeof(struct rank_times),
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .looks_at = {.timeline = true},
    .needs = REPORT_BIT(REPORT_COMM) | REPORT_BIT(REPORT_STEPS) | REPORT_BIT(REPORT_IDLE),
    .gather = gather,
    .finish = finish,
    .release = release,
};

static int finish_stages(struct report_row *row)
{
    struct ranks ranks = {0};
    int status = ranks_of_trace(&ranks, row->trace) ?: stages_fill(row, &ranks);
    ranks_release(&ranks);
    return status;
}

const struct section section_stages = {
    SECTION_COLUMNS(stages_columns),
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .looks_at = {.timeline = true},
    .needs = REPORT_BIT(REPORT_RANKS) | REPORT_BIT(REPORT_COMM) | REPORT_BIT(REPORT_STEPS) | REPORT_BIT(REPORT_IDLE),
    .finish = finish_stages,
};
