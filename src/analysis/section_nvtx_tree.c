/*
 * Ranges within one another: a row for each way from an outermost range to an inner one, below the row of what is
 * around it, with its time, what of it is in none of its own inner ranges, and how long GPUs were busy with what was
 * launched in it. The longest come first.
 */
#include <stdlib.h>

#include "analysis/range_rows.h"
#include "analysis/section.h"
#include "analysis/series.h"

#define COLUMNS(X)                                                          \
    X(TOTAL, "total", "Total", NS, COLUMN_APART)                            \
    X(SELF, "self", "Self", NS, COLUMN_APART)                               \
    X(GPU_BUSY, "gpu_busy", "GPU busy", NS, COLUMN_OPTIONAL | COLUMN_APART) \
    X(COUNT, "count", "Count", COUNT, 0)                                    \
    SUMMARY_COLUMNS(X, NS)                                                  \
    X(DOMAIN, "domain", "Domain", TEXT, COLUMN_OPTIONAL)                    \
    X(DEPTH, "depth", "Depth", COUNT, COLUMN_MACHINE)                       \
    X(PATH, "path", "Path", TEXT, COLUMN_MACHINE)                           \
    X(NAME, "name", "Name", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

/* Blanks before a name, two for each range around it, up to these. */
static const char indentation[] = "                                                                ";

struct branch {
    struct series durations;
    int64_t self;
    uint32_t inner, next; /* index + 1 of its first inner one, and of the next one beside it */
};

struct tree {
    struct range_forest forest;
    ARRAY(struct branch) branches; /* of each node */
    uint32_t first;                /* index + 1 */
    const struct trace *trace;     /* while GPU operations are gathered */
    struct range_busy busy;        /* by node + 1; 0: in no range */
};

/* The node of the range that was opened last is the newest, or one that is known. */
static int add(struct tree *tree, struct range_walk *walk)
{
    const struct range_open *open = &walk->open.items[walk->open.count - 1];
    int64_t taken, duration = open->range.end - open->range.start;
    if (range_forest_place(&tree->forest, walk, &taken) < 0)
        return -1;
    if (open->node == tree->branches.count && !array_push(&tree->branches))
        return -1;
    struct branch *branch = &tree->branches.items[open->node];
    uint32_t parent = tree->forest.nodes.items[open->node].parent;
    branch->self += duration;
    if (parent)
        tree->branches.items[parent - 1].self -= taken;
    return series_add(&branch->durations, duration);
}

static uint32_t row_of(void *state, struct range_walk *walk)
{
    return add(state, walk) == 0 ? walk->open.items[walk->open.count - 1].node + 1 : RANGE_ROW_NONE;
}

static uint32_t gpu_of(void *state, const struct launched_op *op)
{
    const struct tree *tree = state;
    return tree->trace->streams.items[op->stream].device;
}

static int gather(void *state, const struct trace *trace)
{
    struct tree *tree = state;
    if (trace->ranges.count == 0)
        return 0;
    tree->trace = trace;
    const struct range_rows rows = {.ranges = &trace->ranges,
                                    .nesting = true,
                                    .gpu_ops = &trace->launched_ops,
                                    .room = trace->room,
                                    .limit = RANGE_ROWS_LIMIT,
                                    .context = tree,
                                    .row = row_of,
                                    .gpu = gpu_of};
    return range_rows_gather(&rows, &tree->busy);
}

struct rank {
    int64_t total;
    uint32_t node;
};

static int shortest_first(const void *a, const void *b)
{
    const struct rank *left = a, *right = b;
    if (left->total != right->total)
        return left->total < right->total ? -1 : 1;
    return (left->node < right->node) - (left->node > right->node);
}

/* Each is put before those that are there already: the longest, last of all, becomes the first. */
static int order(struct tree *tree)
{
    size_t count = tree->branches.count;
    struct rank *ranks = count ? malloc(count * sizeof(*ranks)) : NULL;
    if (count && !ranks)
        return -1;
    for (size_t i = 0; i < count; i++)
        ranks[i] = (struct rank){tree->branches.items[i].durations.total, (uint32_t)i};
    if (count > 1)
        qsort(ranks, count, sizeof(*ranks), shortest_first);
    for (size_t i = 0; i < count; i++) {
        uint32_t node = ranks[i].node, parent = tree->forest.nodes.items[node].parent;
        uint32_t *first = parent ? &tree->branches.items[parent - 1].inner : &tree->first;
        tree->branches.items[node].next = *first;
        *first = node + 1;
    }
    free(ranks);
    return 0;
}

/* In tables that are read the name stands below those that are around it; Markdown takes no blanks, so it has the whole
 * way. */
static struct cell name_cell(const struct tree *tree, const struct trace *trace, struct table *table, uint32_t index)
{
    const struct range_node *node = &tree->forest.nodes.items[index];
    if (trace->options->format == REPORT_MARKDOWN)
        return range_forest_path_cell(&tree->forest, trace, table, index + 1);
    size_t blanks = trace->options->format == REPORT_TABLE ? 2 * (size_t)node->depth : 0;
    size_t most = sizeof(indentation) - 1;
    const char *name = node->name == EVENT_NO_TEXT ? "" : interned(&trace->strings, node->name);
    return table_format(table, "%s%s", indentation + (blanks < most ? most - blanks : 0), name);
}

/* Empty where the trace has no GPU operation. */
static struct cell busy_cell(const struct tree *tree, uint32_t row)
{
    return tree->busy.totals.count ? range_rows_cell(&tree->busy, row) : (struct cell){0};
}

static int write_row(const struct trace *trace, struct table *table, struct tree *tree, uint32_t index)
{
    const struct range_node *node = &tree->forest.nodes.items[index];
    struct branch *branch = &tree->branches.items[index];
    struct summary summary = series_summary(&branch->durations);
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    row[COLUMN_TOTAL] = cell_integer(summary.total);
    row[COLUMN_SELF] = cell_integer(branch->self);
    row[COLUMN_GPU_BUSY] = busy_cell(tree, index + 1);
    row[COLUMN_COUNT] = cell_integer(summary.count);
    table_write_summary(&row[COLUMN_AVG], &summary);
    row[COLUMN_DOMAIN] = trace_text_cell(trace, table, node->domain);
    row[COLUMN_DEPTH] = cell_integer(node->depth);
    row[COLUMN_PATH] = range_forest_path_cell(&tree->forest, trace, table, index + 1);
    row[COLUMN_NAME] = name_cell(tree, trace, table, index);
    return 0;
}

static int write_outside(const struct tree *tree, struct table *table)
{
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    row[COLUMN_GPU_BUSY] = busy_cell(tree, 0);
    row[COLUMN_DEPTH] = cell_integer(0);
    row[COLUMN_PATH] = row[COLUMN_NAME] = table_text(table, RANGE_OUTSIDE);
    return 0;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct tree *tree = state;
    if (order(tree) < 0)
        return -1;
    uint32_t at = tree->first;
    while (at) {
        if (write_row(trace, table, tree, at - 1) < 0)
            return -1;
        uint32_t next = tree->branches.items[at - 1].inner;
        for (; !next && at; at = tree->forest.nodes.items[at - 1].parent)
            next = tree->branches.items[at - 1].next;
        at = next;
    }
    return range_busy_total(&tree->busy, 0) ? write_outside(tree, table) : 0;
}

static void release(void *state)
{
    struct tree *tree = state;
    for (size_t i = 0; i < tree->branches.count; i++)
        series_release(&tree->branches.items[i].durations);
    array_release(&tree->branches);
    range_forest_release(&tree->forest);
    range_busy_release(&tree->busy);
}

const struct section section_nvtx_tree = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_NVTX},
    .state_size = sizeof(struct tree),
    .ranges = true,
    .launched_ops = true,
    .gather = gather,
    .finish = finish,
    .release = release,
};
