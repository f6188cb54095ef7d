/* The stages of a pipeline (analysis/ranks/stages.h). */
#include "analysis/ranks/stages.h"

static int finish(struct report_row *row)
{
    struct ranks ranks = {0};
    int status = ranks_of_trace(&ranks, row->trace) ?: stages_fill(row, &ranks);
    ranks_release(&ranks);
    return status;
}

const struct section section_stages = {
    .columns = stages_columns,
    .column_count = STAGES_COLUMNS,
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .timeline = true,
    .needs = REPORT_BIT(REPORT_RANKS) | REPORT_BIT(REPORT_COMM) | REPORT_BIT(REPORT_STEPS) | REPORT_BIT(REPORT_IDLE),
    .finish = finish,
};
