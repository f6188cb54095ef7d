/*
 * What GPUs did, by name: kernels, by grid and block too when asked; copies and sets, once by the time they took, once
 * by what they moved. Launches of whole graphs, where their nodes were not recorded, are listed with the kernels.
 */
#include <string.h>

#include "analysis/section.h"

struct kernel_key {
    uint64_t name;             /* of the trace's strings */
    int64_t grid[3], block[3]; /* by grid alone, else the key ends before them */
};

struct kernel_row {
    struct series times;
};

static int kernel_event(void *state, const struct trace *trace, const struct trace_event *event)
{
    struct kernel_key key = {.name = event->name};
    struct kernel_row *row;
    if (trace->options->by_grid) {
        memcpy(key.grid, event->grid, sizeof(key.grid));
        memcpy(key.block, event->block, sizeof(key.block));
        row = tally_item((struct tally *)state, &key, struct kernel_row);
    } else {
        row = tally_item((struct tally *)state, &key.name, struct kernel_row);
    }
    return row ? series_add(&row->times, event->duration) : -1;
}

static struct cell fill_size(struct row *row, const struct column *column)
{
    const int64_t *size = (const int64_t *)row->key + column->at / sizeof(*size);
    if (!row->trace->options->by_grid || size[0] == EVENT_NONE || size[1] == EVENT_NONE || size[2] == EVENT_NONE)
        return (struct cell){0};
    return table_format(row->table, "%lldx%lldx%lld", (long long)size[0], (long long)size[1], (long long)size[2]);
}

static const struct column kernel_columns[] = {
    COLUMN_SHARE(kernel_row, times),
    COLUMN_TOTAL(COLUMN_SUM, kernel_row, times),
    COLUMN_COUNT("calls", "Calls", COLUMN_SUM, kernel_row, times),
    COLUMNS_SUMMARY("", TYPE_NS, kernel_row, times),
    {"grid", "Grid", TYPE_TEXT, COLUMN_OPTIONAL, fill_size, FROM_KEY(kernel_key, grid)},
    {"block", "Block", TYPE_TEXT, COLUMN_OPTIONAL, fill_size, FROM_KEY(kernel_key, block)},
    COLUMN_NAME,
};

const struct section section_kernels = {
    SECTION_COLUMNS(kernel_columns),
    SECTION_TALLY(struct kernel_row, 1),
    .sources = {TRACE_KERNEL},
    .sort = "total",
    .categories = EVENT_BIT(EVENT_KERNEL) | EVENT_BIT(EVENT_GRAPH),
    .event = kernel_event,
};

/* --- copies and sets by what they did: "Memcpy HtoD (Pinned -> Device)" --- */

struct memop_row {
    struct series times, sizes;
};

static int memop_event(void *state, const struct trace *trace, const struct trace_event *event)
{
    (void)trace;
    const struct name_key key = {event->name};
    struct memop_row *row = tally_item((struct tally *)state, &key, struct memop_row);
    if (!row || series_add(&row->times, event->duration) < 0)
        return -1;
    return series_add(&row->sizes, event->bytes > 0 ? event->bytes : 0);
}

/* All bytes of a row by all its time; bytes a ns are GB a second. */
static struct cell fill_bandwidth(struct row *row, const struct column *column)
{
    const struct memop_row *memops = row->item;
    (void)column;
    return memops->times.total > 0 ? cell_real((double)memops->sizes.total / (double)memops->times.total)
                                   : (struct cell){0};
}

#define MEMOP_LAST_COLUMNS                                            \
    {"bandwidth", "Bandwidth", TYPE_RATE, 0, .fill = fill_bandwidth}, \
        {"name", "Operation", TYPE_TEXT, 0, fill_name, FROM_KEY(name_key, name)},

static const struct column memtime_columns[] = {COLUMN_SHARE(memop_row, times),
                                                COLUMN_TOTAL(COLUMN_SUM, memop_row, times),
                                                COLUMN_COUNT("count", "Count", COLUMN_SUM, memop_row, times),
                                                COLUMNS_SUMMARY("", TYPE_NS, memop_row, times), MEMOP_LAST_COLUMNS};

static const struct column memsize_columns[] = {
    {"share", "Bytes", TYPE_PERCENT, COLUMN_SUM, fill_share, FROM_ITEM(memop_row, sizes)},
    {"total", "Total", TYPE_BYTES, COLUMN_SUM, fill_total, FROM_ITEM(memop_row, sizes)},
    COLUMN_COUNT("count", "Count", COLUMN_SUM, memop_row, sizes),
    COLUMNS_SUMMARY("", TYPE_BYTES, memop_row, sizes),
    MEMOP_LAST_COLUMNS};

const struct section section_memtime = {
    SECTION_COLUMNS(memtime_columns),
    SECTION_TALLY(struct memop_row, 2),
    .sources = {TRACE_MEMCPY | TRACE_MEMSET},
    .sort = "total",
    .categories = EVENT_BIT(EVENT_MEMCPY) | EVENT_BIT(EVENT_MEMSET),
    .event = memop_event,
};

const struct section section_memsize = {
    SECTION_COLUMNS(memsize_columns),
    SECTION_TALLY(struct memop_row, 2),
    .sources = {TRACE_MEMCPY | TRACE_MEMSET},
    .sort = "total",
    .categories = EVENT_BIT(EVENT_MEMCPY) | EVENT_BIT(EVENT_MEMSET),
    .event = memop_event,
};
