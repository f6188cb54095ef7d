/*
 * Kernels by the range that they were started in: the way to the innermost one of their call's thread. Launches of
 * whole graphs, where their nodes were not recorded, are listed with them. The sum of durations counts kernels that
 * overlap each on its own; GPU busy time counts them once.
 */
#include "analysis/busy.h"
#include "analysis/range_rows.h"
#include "analysis/section.h"

struct kernel_key {
    uint64_t node; /* index + 1; 0: in no range */
    uint64_t name;
};

struct kernel_row {
    struct series times;
};

struct kernels {
    struct tally rows; /* struct kernel_row by struct kernel_key */
    struct range_forest forest;
    struct range_busy busy;    /* by the rows' numbers */
    const struct trace *trace; /* while kernels are gathered */
};

static int add_kernel(struct kernels *kernels, uint32_t node, const struct launched_op *op)
{
    const struct kernel_key key = {node, op->name};
    struct kernel_row *row = tally_item(&kernels->rows, &key, struct kernel_row);
    if (!row || series_add(&row->times, op->duration) < 0)
        return -1;
    uint32_t number = (uint32_t)(row - (struct kernel_row *)kernels->rows.items);
    uint32_t device = kernels->trace->streams.items[op->stream].device;
    return range_busy_add(&kernels->busy, number, device, op->start, op->duration);
}

static int add_op(void *state, struct range_walk *ranges, const struct launched_op *op)
{
    struct kernels *kernels = state;
    int64_t taken;
    while (range_walk_open(ranges, op->thread, op->called))
        if (range_forest_place(&kernels->forest, ranges, &taken) < 0)
            return -1;
    const struct range_open *innermost = range_walk_innermost(ranges, op->thread, op->called);
    return op->kernel ? add_kernel(kernels, innermost ? innermost->node + 1 : 0, op) : 0;
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

static struct cell fill_busy(struct row *row, const struct column *column)
{
    const struct kernels *kernels = row->state;
    (void)column;
    return cell_integer(range_busy_total(&kernels->busy, row->number));
}

static struct cell fill_path(struct row *row, const struct column *column)
{
    const struct kernels *kernels = row->state;
    uint32_t node = (uint32_t)row_integer(row, column);
    return node ? range_forest_path_cell(&kernels->forest, row->trace, row->table, node)
                : table_text(row->table, RANGE_OUTSIDE);
}

static const struct column columns[] = {
    COLUMN_SHARE(kernel_row, times),
    COLUMN_TOTAL(COLUMN_SUM, kernel_row, times),
    {"gpu_busy", "GPU busy", TYPE_NS, COLUMN_APART, .fill = fill_busy},
    COLUMN_COUNT("calls", "Calls", COLUMN_SUM, kernel_row, times),
    COLUMNS_SUMMARY("", TYPE_NS, kernel_row, times),
    {"range", "Range", TYPE_TEXT, 0, fill_path, FROM_KEY(kernel_key, node)},
    {"name", "Name", TYPE_TEXT, 0, fill_name, FROM_KEY(kernel_key, name)},
};

static void release(void *state)
{
    struct kernels *kernels = state;
    range_forest_release(&kernels->forest);
    range_busy_release(&kernels->busy);
}

const struct section section_nvtx_kernels = {
    SECTION_COLUMNS(columns),
    .state_size = sizeof(struct kernels),
    SECTION_STATE_TALLY(struct kernel_row, 1),
    .sources = {TRACE_NVTX, TRACE_KERNEL, TRACE_API},
    .sort = "total",
    .ranges = true,
    .launched_ops = true,
    .gather = gather,
    .release = release,
};
