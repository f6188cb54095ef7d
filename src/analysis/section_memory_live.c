/*
 * What was allocated at a time, by groups of allocations that are alike: at the end (memory-leaks), and at the time
 * that --snapshot names, then in place of the section memory.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/sink.h"
#include "analysis/memory_cells.h"
#include "analysis/section.h"

#define COLUMNS(X)                                \
    X(BYTES, "total", "Bytes", BYTES, COLUMN_SUM) \
    X(COUNT, "count", "Count", COUNT, COLUMN_SUM) \
    X(FIRST, "first", "First at", NS, 0)          \
    X(LAST, "last", "Last at", NS, 0)             \
    MEMORY_GROUP_COLUMNS(X)                       \
    X(ADDRESSES, "addresses", "Addresses", TEXT, COLUMN_MACHINE)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

static int by_group(const void *a, const void *b)
{
    const struct heap_live *left = a, *right = b;
    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->address < right->address ? -1 : left->address > right->address;
}

static struct cell addresses_cell(struct table *table, const struct heap_live *lives, size_t count)
{
    struct sink text;
    sink_init_memory(&text);
    for (size_t i = 0; i < count; i++)
        sink_format(&text, "%s0x%" PRIx64, i > 0 ? " " : "", lives[i].address);
    return table_sink(table, &text);
}

/* COUNT allocations of one group, by time. */
static int put_row(const struct trace *trace, struct table *table, const struct heap_live *lives, size_t count)
{
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    int64_t size = heap_group_id(trace->heap, lives->group)->size;
    row[COLUMN_BYTES] = cell_integer(memory_bytes((int64_t)count, size));
    row[COLUMN_COUNT] = cell_integer((int64_t)count);
    row[COLUMN_FIRST] = cell_integer(lives[0].time - trace->start);
    row[COLUMN_LAST] = cell_integer(lives[count - 1].time - trace->start);
    memory_put_group(trace, table, &row[COLUMN_SIZE], lives->group);
    row[COLUMN_ADDRESSES] = addresses_cell(table, lives, count);
    return 0;
}

/* Sorts LIVES, whose first COUNT are in use. */
static int put_all(const struct trace *trace, struct table *table, struct heap_live *lives, size_t count)
{
    if (count > 1)
        qsort(lives, count, sizeof(*lives), by_group);
    for (size_t first = 0, next = 0; first < count; first = next) {
        while (next < count && lives[next].group == lives[first].group)
            next++;
        if (put_row(trace, table, lives + first, next - first) < 0)
            return -1;
    }
    return 0;
}

static int put_copy(const struct trace *trace, struct table *table, const struct heap_live *lives, size_t count)
{
    struct heap_live *copy = calloc(count + 1, sizeof(*copy));
    size_t used = 0;
    if (!copy)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (lives[i].used)
            copy[used++] = lives[i];
    int status = put_all(trace, table, copy, used);
    free(copy);
    return status;
}

static int finish_at_end(void *state, const struct trace *trace, struct table *table)
{
    (void)state;
    return put_copy(trace, table, trace->heap->lives.items, trace->heap->lives.count);
}

static int finish_at_time(void *state, const struct trace *trace, struct table *table)
{
    (void)state;
    return put_copy(trace, table, trace->heap->then.items, trace->heap->then.count);
}

const struct section section_memory_leaks = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_MEMORY},
    .heap = true,
    .sort = "total",
    .finish = finish_at_end,
};

const struct section section_memory_snapshot = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_MEMORY},
    .heap = true,
    .sort = "total",
    .finish = finish_at_time,
};
