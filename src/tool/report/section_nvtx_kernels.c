/*
 * Kernels by the range that they were started in: the way to the innermost one of their call's thread. Launches of
 * whole graphs, where their nodes were not recorded, are listed with them.
 */
#include "tool/report/range_forest.h"
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

struct kernels {
    struct range_forest forest;
    struct series_by durations;
};

static int add(struct kernels *kernels, uint32_t node, uint32_t name, int64_t duration)
{
    struct kernel_key key = {node, name};
    return series_by_add(&kernels->durations, &key, sizeof(key), duration);
}

static int add_alone(void *state, const struct work *work, const struct call *call)
{
    (void)call;
    return work->kernel ? add(state, 0, work->name, work->duration) : 0;
}

static int add_work(void *state, struct range_walk *ranges, const struct called_work *work)
{
    struct kernels *kernels = state;
    int64_t taken;
    while (range_walk_open(ranges, work->thread, work->called))
        if (range_forest_place(&kernels->forest, ranges, &taken) < 0)
            return -1;
    size_t place = range_walk_around(ranges, work->thread, work->called, ranges->open.count);
    uint32_t node = place ? ranges->open.items[place - 1].node + 1 : 0;
    return work->kernel ? add(kernels, node, work->name, work->duration) : 0;
}

static int gather(void *state, const struct trace *trace)
{
    if (trace->ranges.count == 0)
        return works_each(&trace->works, &trace->calls, add_alone, state);
    return range_walk_works(&trace->ranges, true, &trace->called_works, add_work, state);
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct kernels *kernels = state;
    struct series_by *durations = &kernels->durations;
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
            row[COLUMN_RANGE] = range_forest_path_cell(&kernels->forest, trace, table, (uint32_t)key->node);
        row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)key->name);
    }
    return 0;
}

static void release(void *state)
{
    struct kernels *kernels = state;
    series_by_release(&kernels->durations);
    range_forest_release(&kernels->forest);
}

const struct section section_nvtx_kernels = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_NVTX, TRACE_KERNEL, TRACE_API},
    .sort = "total",
    .state_size = sizeof(struct kernels),
    .ranges = true,
    .called_works = true,
    .gather = gather,
    .finish = finish,
    .release = release,
};
