/*
 * Kernels by the range that they were started in: the way to the innermost one of their call's thread. Launches of
 * whole graphs, where their nodes were not recorded, are listed with them. The sum of durations counts kernels that
 * overlap each on its own; GPU busy time counts them once.
 */
#include "analysis/busy.h"
#include "analysis/range_rows.h"
#include "analysis/section.h"
#include "analysis/series.h"

#define COLUMNS(X)                                            \
    X(TIME, "time", "Time", PERCENT, COLUMN_SUM)              \
    X(TOTAL, "total", "Total", NS, COLUMN_SUM | COLUMN_APART) \
    X(GPU_BUSY, "gpu_busy", "GPU busy", NS, COLUMN_APART)     \
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
    struct range_busy busy;    /* by the groups' numbers */
    const struct trace *trace; /* while kernels are gathered */
};

/* A kernel, what is known of it. */
struct kernel {
    uint32_t name, stream;
    int64_t start, duration;
};

static int add(struct kernels *kernels, uint32_t node, const struct kernel *kernel)
{
    struct kernel_key key = {node, kernel->name};
    uint32_t row = groups_number(&kernels->durations.groups, &key, sizeof(key));
    uint32_t device = kernels->trace->streams.items[kernel->stream].device;
    if (row == GROUPS_NO_MEMORY || series_by_add(&kernels->durations, &key, sizeof(key), kernel->duration) < 0)
        return -1;
    return range_busy_add(&kernels->busy, row, device, kernel->start, kernel->duration);
}

static int add_op(void *state, struct range_walk *ranges, const struct launched_op *op)
{
    struct kernels *kernels = state;
    int64_t taken;
    while (range_walk_open(ranges, op->thread, op->called))
        if (range_forest_place(&kernels->forest, ranges, &taken) < 0)
            return -1;
    const struct range_open *innermost = range_walk_innermost(ranges, op->thread, op->called);
    uint32_t node = innermost ? innermost->node + 1 : 0;
    const struct kernel kernel = {op->name, op->stream, op->start, op->duration};
    return op->kernel ? add(kernels, node, &kernel) : 0;
}

static int gather(void *state, const struct trace *trace)
{
    struct kernels *kernels = state;
    if (trace->ranges.count == 0)
        return 0;
    kernels->trace = trace;
    range_busy_init(&kernels->busy, trace->room);
    int status = range_walk_ops(&trace->ranges, true, &trace->launched_ops, add_op, NULL, kernels);
    return status ? status : range_busy_finish(&kernels->busy);
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
        row[COLUMN_GPU_BUSY] = cell_integer(range_busy_total(&kernels->busy, i));
        row[COLUMN_CALLS] = cell_integer(summary.count);
        table_write_summary(&row[COLUMN_AVG], &summary);
        row[COLUMN_RANGE] = key->node ? range_forest_path_cell(&kernels->forest, trace, table, (uint32_t)key->node)
                                      : table_text(table, RANGE_OUTSIDE);
        row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)key->name);
    }
    return 0;
}

static void release(void *state)
{
    struct kernels *kernels = state;
    series_by_release(&kernels->durations);
    range_forest_release(&kernels->forest);
    range_busy_release(&kernels->busy);
}

const struct section section_nvtx_kernels = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_NVTX, TRACE_KERNEL, TRACE_API},
    .sort = "total",
    .state_size = sizeof(struct kernels),
    .ranges = true,
    .launched_ops = true,
    .gather = gather,
    .finish = finish,
    .release = release,
};
