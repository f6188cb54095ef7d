/*
 * The section nvtx-tree shows nested ranges. Each path from an outermost range to an inner range has a row, below the
 * row of its parent, with its time, the part of this time outside of inner ranges (self), and how long GPUs were busy
 * with the operations launched in it. The longest paths come first. The section nvtx-kernels is at the end of this
 * file.
 */
#include <stdlib.h>

#include "common/buffer.h"
#include "common/array.h"
#include "analysis/base/cost_sum.h"
#include "analysis/ranges/range_rows.h"
#include "analysis/engine/section.h"

/* Names are indented by two blanks for each range around them, but at most by these blanks. */
static const char indentation[] = "                                                                ";

struct branch {
    TALLY_SERIES(durations);
    int64_t self;
    uint32_t inner, next; /* index + 1 of its first inner branch, and of the next branch of its parent; 0: none */
};

struct tree {
    struct tally branches; /* struct branch, by index of the node */
    struct range_forest forest;
    uint32_t first;         /* index + 1 */
    struct range_busy busy; /* by index of the node + 1; 0: operations outside of ranges */
};

/* Adds the range that WALK opened last to its branch, which is added if the node is new. Returns 0, or -1: no
 * memory. */
static int add(struct tree *tree, struct range_walk *walk)
{
    const struct range_open *open = &walk->open.items[walk->open.count - 1];
    int64_t taken, duration = open->range.end - open->range.start;
    if (range_forest_place(&tree->forest, walk, &taken) < 0)
        return -1;
    if (open->node == tree->branches.count && !tally_add(&tree->branches, struct branch))
        return -1;
    struct branch *branch = TALLY_AT(&tree->branches, struct branch, open->node);
    uint32_t parent = tree->forest.nodes.items[open->node].parent;
    sum_add(&branch->self, duration);
    if (parent)
        sum_add(&TALLY_AT(&tree->branches, struct branch, parent - 1)->self, -taken);
    return series_add(&branch->durations, duration);
}

static uint32_t row_of(void *state, struct range_walk *walk)
{
    return add(state, walk) == 0 ? walk->open.items[walk->open.count - 1].node + 1 : RANGE_ROW_NONE;
}

static int gather(void *state, const struct trace *trace)
{
    struct tree *tree = state;
    const struct range_rows rows = {
        .trace = trace, .nesting = true, .limit = RANGE_ROWS_LIMIT, .context = tree, .row = row_of};
    return range_rows_gather(&rows, &tree->busy);
}

struct rank {
    int64_t total;
    uint32_t node;
};

ORDER_WITH(shortest_first, struct rank, ORDER(a->total, b->total) ?: ORDER(b->node, a->node))

/* Links the branches of each parent, the longest first: each is inserted at the front, from the shortest on. */
static int order(struct tree *tree)
{
    size_t count = tree->branches.count;
    struct rank *ranks = count ? malloc(count * sizeof(*ranks)) : NULL;
    if (count && !ranks)
        return -1;
    for (size_t i = 0; i < count; i++)
        ranks[i] = (struct rank){TALLY_AT(&tree->branches, struct branch, (uint32_t)i)->durations.total, (uint32_t)i};
    if (count > 1)
        qsort(ranks, count, sizeof(*ranks), shortest_first);
    for (size_t i = 0; i < count; i++) {
        uint32_t node = ranks[i].node, parent = tree->forest.nodes.items[node].parent;
        uint32_t *first = parent ? &TALLY_AT(&tree->branches, struct branch, parent - 1)->inner : &tree->first;
        TALLY_AT(&tree->branches, struct branch, node)->next = *first;
        *first = node + 1;
    }
    free(ranks);
    return 0;
}

/* The cell is empty if the trace has no GPU operation. */
static FILL(busy, ROW_STATE(tree)->busy.totals.count
                      ? range_rows_cell(&ROW_STATE(tree)->busy, (uint32_t)row->number + 1)
                      : (struct cell){0})

    static FILL(path,
                range_forest_path_cell(&ROW_STATE(tree)->forest, row->trace, row->table, (uint32_t)row->number + 1))

    /* In text tables, the name is indented below the parent's name. Markdown drops leading blanks, so the path is
     * shown. */
    static struct cell fill_indented(struct report_row *row, const struct column *column)
{
    const struct range_node *node = row->key;
    enum report_format format = row->trace->options->format;
    if (format == REPORT_MARKDOWN)
        return fill_path(row, column);
    size_t blanks = format == REPORT_TABLE || format == REPORT_HTML ? 2 * (size_t)node->depth : 0,
           most = sizeof(indentation) - 1;
    const char *name = trace_text(row->trace, node->name);
    return table_format(row->table, "%s%s", indentation + (blanks < most ? most - blanks : 0), name);
}

enum { COLUMN_BUSY = 2, COLUMN_DEPTH = 10, COLUMN_PATH, COLUMN_RANGE };

static const struct column columns[] = {
    COLUMN_TOTAL(0, branch, durations),
    {"self", "Self", TYPE_NS, COLUMN_APART, fill_number, FROM_ITEM(branch, self)},
    [COLUMN_BUSY] = {"gpu_busy", "GPU busy", TYPE_NS, COLUMN_OPTIONAL | COLUMN_APART, .fill = fill_busy},
    COLUMN_COUNT("count", "Count", 0, branch, durations),
    COLUMNS_SUMMARY("", TYPE_NS, branch, durations),
    {"domain", "Domain", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_KEY(range_node, domain)},
    [COLUMN_DEPTH] = {"depth", "Depth", TYPE_COUNT, COLUMN_MACHINE, fill_number, FROM_KEY(range_node, depth)},
    [COLUMN_PATH] = {"path", "Path", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_path},
    [COLUMN_RANGE] = {"name", "Name", TYPE_TEXT, 0, .fill = fill_indented},
};

static void finish(struct report_row *row)
{
    struct tree *tree = row->state;
    row->table->no_memory |= order(tree) < 0;
    uint32_t at = tree->first;
    while (at) {
        row->number = at - 1;
        section_row(row, &tree->forest.nodes.items[at - 1], TALLY_AT(&tree->branches, struct branch, at - 1));
        uint32_t next = TALLY_AT(&tree->branches, struct branch, at - 1)->inner;
        for (; !next && at; at = tree->forest.nodes.items[at - 1].parent)
            next = TALLY_AT(&tree->branches, struct branch, at - 1)->next;
        at = next;
    }
    struct cell *cells = range_busy_total(&tree->busy, 0) ? table_row(row->table) : NULL;
    if (!cells)
        return;
    cells[COLUMN_BUSY] = range_rows_cell(&tree->busy, 0);
    cells[COLUMN_DEPTH] = cell_integer(0);
    cells[COLUMN_PATH] = cells[COLUMN_RANGE] = table_text(row->table, RANGE_OUTSIDE);
}

static void release(void *state)
{
    struct tree *tree = state;
    range_forest_release(&tree->forest);
    range_busy_release(&tree->busy);
}

const struct section section_nvtx_tree = {
    SECTION_COLUMNS(columns),
    .state_size = sizeof(struct tree),
    SECTION_STATE_TALLY(struct branch),
    .sources = {TRACE_NVTX},
    .indexes = {.ranges = true, .launched_ops = true},
    .gather = gather,
    .finish = finish,
    .release = release,
};

/*
 * The section nvtx-kernels shows kernels by the path to the innermost range around their launch, and kernels of graphs
 * by the ranges in which they were captured, if any. If the nodes of a graph were not recorded, its launches are listed
 * as kernels. The sum of durations counts overlapping kernels twice; GPU busy time counts overlaps once.
 */

#define CAPTURED_NODE (UINT64_C(1) << 32)

struct kernel_key {
    uint64_t node; /* index + 1; 0: no range; CAPTURED_NODE + number of the captured path */
    uint64_t name;
};

struct kernel_row {
    TALLY_SERIES(times);
};

struct kernels {
    struct tally rows; /* struct kernel_row by struct kernel_key */
    struct range_forest forest;
    struct range_busy busy;    /* by number of the row */
    const struct trace *trace; /* while kernels are gathered */
};

static int add_op(void *state, struct range_walk *ranges, const struct launched_op *op)
{
    struct kernels *kernels = state;
    int64_t taken;
    while (range_walk_open(ranges, op->thread, op->called))
        if (range_forest_place(&kernels->forest, ranges, &taken) < 0)
            return -1;
    const struct range_open *innermost = range_walk_innermost(ranges, op->thread, op->called);
    uint64_t node = op->captured != 0 ? CAPTURED_NODE + op->captured : innermost ? innermost->node + 1 : 0;
    if (!op->kernel)
        return 0;
    const struct kernel_key key = {node, op->name};
    struct kernel_row *row = tally_item(&kernels->rows, &key, struct kernel_row);
    if (!row || series_add(&row->times, op->duration) < 0)
        return -1;
    uint32_t number = (uint32_t)(row - (struct kernel_row *)kernels->rows.items);
    uint32_t device = kernels->trace->streams.items[op->stream].device;
    return range_busy_add(&kernels->busy, number, device, op->start, op->duration);
}

static int gather_kernels(void *state, const struct trace *trace)
{
    struct kernels *kernels = state;
    if (!trace_has_ranges(trace))
        return 0;
    kernels->trace = trace;
    busy_init(&kernels->busy.busy, trace->space);
    int status = range_walk_ops(&trace->ranges, true, &trace->launched_ops, add_op, NULL, kernels);
    return status ?: range_busy_finish(&kernels->busy);
}

static FILL(kernel_busy, cell_integer(range_busy_total(&ROW_STATE(kernels)->busy, row->number)))

    static struct cell fill_kernel_path(struct report_row *row, const struct column *column)
{
    const struct kernels *kernels = row->state;
    uint64_t node = (uint64_t)row_integer(row, column);
    if (node >= CAPTURED_NODE) {
        /* "captured: outer/inner" */
        const struct captured *captured = &row->trace->captured;
        const struct captured_path *path = captured_path(captured, (uint32_t)(node - CAPTURED_NODE));
        struct buffer text;
        buffer_init_memory(&text);
        buffer_text(&text, "captured: ");
        for (uint32_t i = 0; i < path->count; i++) {
            buffer_text(&text, i > 0 ? "/" : "");
            buffer_text(&text, trace_text(row->trace, captured->names.items[path->first + i]));
        }
        return table_text_from_buffer(row->table, &text);
    }
    return node ? range_forest_path_cell(&kernels->forest, row->trace, row->table, (uint32_t)node)
                : table_text(row->table, RANGE_OUTSIDE);
}

static const struct column kernel_columns[] = {
    COLUMN_SHARE(kernel_row, times),
    COLUMN_TOTAL(COLUMN_SUM, kernel_row, times),
    {"gpu_busy", "GPU busy", TYPE_NS, COLUMN_APART, .fill = fill_kernel_busy},
    COLUMN_COUNT("calls", "Calls", COLUMN_SUM, kernel_row, times),
    COLUMNS_SUMMARY("", TYPE_NS, kernel_row, times),
    {"range", "Range", TYPE_TEXT, 0, fill_kernel_path, FROM_KEY(kernel_key, node)},
    {"name", "Name", TYPE_TEXT, 0, fill_name, FROM_KEY(kernel_key, name)},
};

static void release_kernels(void *state)
{
    struct kernels *kernels = state;
    range_forest_release(&kernels->forest);
    range_busy_release(&kernels->busy);
}

const struct section section_nvtx_kernels = {
    SECTION_COLUMNS(kernel_columns),
    .state_size = sizeof(struct kernels),
    SECTION_STATE_TALLY(struct kernel_row),
    .sources = {TRACE_NVTX, TRACE_KERNEL, TRACE_API},
    .sort = "total",
    .indexes = {.ranges = true, .launched_ops = true},
    .gather = gather_kernels,
    .release = release_kernels,
};
