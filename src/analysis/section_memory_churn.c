/*
 * Short-lived allocations, by groups of those that are alike: how many lived for less than a millisecond, how much
 * memory went through them, and how long they lived.
 */
#include "common/clock.h"
#include "analysis/memory_cells.h"
#include "analysis/section.h"

#define COLUMNS(X)                                             \
    X(BYTES, "total", "Bytes", BYTES, COLUMN_SUM)              \
    X(COUNT, "count", "Count", COUNT, COLUMN_SUM)              \
    X(ALLOCATIONS, "allocations", "Of all", COUNT, COLUMN_SUM) \
    X(RATE, "per_second", "Per second", BYTES, 0)              \
    X(AVG, "avg", "Avg life", NS, 0)                           \
    X(MIN, "min", "Min life", NS, 0)                           \
    X(MAX, "max", "Max life", NS, 0)                           \
    MEMORY_GROUP_COLUMNS(X)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

static int put_row(const struct trace *trace, struct table *table, size_t number)
{
    const struct heap_group *group = &trace->heap->groups.items[number];
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    int64_t bytes = memory_bytes(group->brief.count, heap_group_id(trace->heap, number)->size);
    row[COLUMN_BYTES] = cell_integer(bytes);
    row[COLUMN_COUNT] = cell_integer(group->brief.count);
    row[COLUMN_ALLOCATIONS] = cell_integer(group->allocations);
    if (trace_span(trace) > 0)
        row[COLUMN_RATE] = cell_real((double)bytes * (double)NS_PER_S / (double)trace_span(trace));
    row[COLUMN_AVG] = cell_real((double)group->brief.time / (double)group->brief.count);
    row[COLUMN_MIN] = cell_integer(group->brief.shortest);
    row[COLUMN_MAX] = cell_integer(group->brief.longest);
    memory_put_group(trace, table, &row[COLUMN_SIZE], number);
    return 0;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    (void)state;
    for (size_t i = 0; i < trace->heap->groups.count; i++)
        if (trace->heap->groups.items[i].brief.count > 0 && put_row(trace, table, i) < 0)
            return -1;
    return 0;
}

const struct section section_memory_churn = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_MEMORY},
    .heap = true,
    .sort = "count",
    .finish = finish,
};
