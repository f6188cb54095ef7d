/*
 * Ranges within one another: a row for each way from an outermost range to an inner one, below the row of what is
 * around it, with its time and what of it is in none of its own inner ranges. The longest come first.
 */
#include <stdlib.h>

#include "tool/report/section.h"
#include "tool/report/series.h"

#define COLUMNS(X)                                       \
    X(TOTAL, "total", "Total", NS, COLUMN_APART)         \
    X(SELF, "self", "Self", NS, COLUMN_APART)            \
    X(COUNT, "count", "Count", COUNT, 0)                 \
    SUMMARY_COLUMNS(X, NS)                               \
    X(DOMAIN, "domain", "Domain", TEXT, COLUMN_OPTIONAL) \
    X(DEPTH, "depth", "Depth", COUNT, COLUMN_MACHINE)    \
    X(PATH, "path", "Path", TEXT, COLUMN_MACHINE)        \
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
    ARRAY(struct branch) branches; /* of each node */
    uint32_t first;                /* index + 1 */
};

static int gather(struct tree *tree, const struct ranges *ranges)
{
    while (tree->branches.count < ranges->nodes.count)
        if (!array_push(&tree->branches))
            return -1;
    for (size_t i = 0; i < ranges->items.count; i++) {
        const struct range *range = &ranges->items.items[i];
        if (range->started)
            continue;
        struct branch *branch = &tree->branches.items[range->node];
        branch->self += range->self;
        if (series_add(&branch->durations, range->end - range->start) < 0)
            return -1;
    }
    return 0;
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
static int order(struct tree *tree, const struct ranges *ranges)
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
        uint32_t node = ranks[i].node, parent = ranges->nodes.items[node].parent;
        uint32_t *first = parent ? &tree->branches.items[parent - 1].inner : &tree->first;
        tree->branches.items[node].next = *first;
        *first = node + 1;
    }
    free(ranks);
    return 0;
}

/* In tables that are read the name stands below those that are around it; Markdown takes no blanks, so it has the whole
 * way. */
static struct cell name_cell(const struct trace *trace, struct table *table, uint32_t index)
{
    const struct range_node *node = &trace->ranges.nodes.items[index];
    if (trace->options->format == REPORT_MARKDOWN)
        return ranges_path_cell(trace, table, index + 1);
    size_t blanks = trace->options->format == REPORT_TABLE ? 2 * (size_t)node->depth : 0;
    size_t most = sizeof(indentation) - 1;
    const char *name = node->name == EVENT_NO_TEXT ? "" : interned(&trace->strings, node->name);
    return table_format(table, "%s%s", indentation + (blanks < most ? most - blanks : 0), name);
}

static int put_row(const struct trace *trace, struct table *table, struct tree *tree, uint32_t index)
{
    const struct range_node *node = &trace->ranges.nodes.items[index];
    struct branch *branch = &tree->branches.items[index];
    struct summary summary = series_summary(&branch->durations);
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    row[COLUMN_TOTAL] = cell_integer(summary.total);
    row[COLUMN_SELF] = cell_integer(branch->self);
    row[COLUMN_COUNT] = cell_integer(summary.count);
    table_put_summary(&row[COLUMN_AVG], &summary);
    row[COLUMN_DOMAIN] = trace_text_cell(trace, table, node->domain);
    row[COLUMN_DEPTH] = cell_integer(node->depth);
    row[COLUMN_PATH] = ranges_path_cell(trace, table, index + 1);
    row[COLUMN_NAME] = name_cell(trace, table, index);
    return 0;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct tree *tree = state;
    if (gather(tree, &trace->ranges) < 0 || order(tree, &trace->ranges) < 0)
        return -1;
    uint32_t at = tree->first;
    while (at) {
        if (put_row(trace, table, tree, at - 1) < 0)
            return -1;
        uint32_t next = tree->branches.items[at - 1].inner;
        for (; !next && at; at = trace->ranges.nodes.items[at - 1].parent)
            next = tree->branches.items[at - 1].next;
        at = next;
    }
    return 0;
}

static void release(void *state)
{
    struct tree *tree = state;
    for (size_t i = 0; i < tree->branches.count; i++)
        series_release(&tree->branches.items[i].durations);
    array_release(&tree->branches);
}

const struct section section_nvtx_tree = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .state_size = sizeof(struct tree),
    .ranges = true,
    .finish = finish,
    .release = release,
};
