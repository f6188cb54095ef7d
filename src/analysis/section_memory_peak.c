/*
 * What the most memory that was allocated at one time was made of: of each device, and of the host's memory, by groups
 * of allocations that are alike.
 */
#include "analysis/memory_cells.h"
#include "analysis/section.h"

#define COLUMNS(X)                               \
    X(BYTES, "total", "Bytes", BYTES, 0)         \
    X(SHARE, "share", "Of the peak", PERCENT, 0) \
    X(COUNT, "count", "Count", COUNT, 0)         \
    X(AT, "at", "Peak at", NS, 0)                \
    MEMORY_GROUP_COLUMNS(X)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

static int finish(void *state, const struct trace *trace, struct table *table)
{
    const struct heap *heap = trace->heap;
    (void)state;
    for (size_t i = 0; i < heap->groups.count; i++) {
        const struct heap_place *place = &heap->places.items[heap->groups.items[i].place];
        int64_t count = heap_group_at_peak(heap, i), bytes = memory_bytes(count, heap_group_id(heap, i)->size);
        struct cell *row = bytes > 0 ? table_row(table) : NULL;
        if (!row && bytes > 0)
            return -1;
        if (!row)
            continue;
        row[COLUMN_BYTES] = cell_integer(bytes);
        row[COLUMN_SHARE] = cell_share(bytes, place->peak);
        row[COLUMN_COUNT] = cell_integer(count);
        row[COLUMN_AT] = cell_integer(place->peak_at - trace->start);
        memory_put_group(trace, table, &row[COLUMN_SIZE], i);
    }
    return 0;
}

const struct section section_memory_peak = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_MEMORY},
    .heap = true,
    .sort = "total",
    .finish = finish,
};
