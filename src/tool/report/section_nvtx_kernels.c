/*
 * Kernels by the range that they were started in: the way to the innermost one of their call's thread. Launches of
 * whole graphs, where their nodes were not recorded, are listed with them.
 */
#include "tool/report/section.h"
#include "tool/report/series.h"

#define COLUMNS(X)                                            \
    X(TIME, "time", "Time", PERCENT, COLUMN_SUM)              \
    X(TOTAL, "total", "Total", NS, COLUMN_SUM | COLUMN_APART) \
    X(CALLS, "calls", "Calls", COUNT, COLUMN_SUM)             \
    SUMMARY_COLUMNS(X, NS)                                    \
    X(RANGE, "range", "Range", TEXT, 0)                       \
    X(NAME, "name", "Name", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

struct kernel_key {
    uint64_t node; /* index + 1; 0: in no range */
    uint64_t name;
};

static int work(void *state, const struct trace *trace, const struct work *work, const struct call *call)
{
    if (!work->kernel)
        return 0;
    struct kernel_key key = {call ? ranges_node_of(&trace->ranges, call) : 0, work->name};
    return series_by_add(state, &key, sizeof(key), work->duration);
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct series_by *durations = state;
    int64_t all = series_by_total(durations);
    for (size_t i = 0; i < durations->items.count; i++) {
        const struct kernel_key *key = groups_key(&durations->groups, i);
        struct summary summary = series_summary(&durations->items.items[i]);
        struct cell *row = table_row(table);
        if (!row)
            return -1;
        row[COLUMN_TIME] = cell_share(summary.total, all);
        row[COLUMN_TOTAL] = cell_integer(summary.total);
        row[COLUMN_CALLS] = cell_integer(summary.count);
        table_put_summary(&row[COLUMN_AVG], &summary);
        if (key->node)
            row[COLUMN_RANGE] = ranges_path_cell(trace, table, (uint32_t)key->node);
        row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)key->name);
    }
    return 0;
}

static void release(void *state)
{
    series_by_release(state);
}

const struct section section_nvtx_kernels = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sort = "total",
    .state_size = sizeof(struct series_by),
    .ranges = true,
    .work = work,
    .finish = finish,
    .release = release,
};
