/* Kernels by name, and by grid and block when asked. Launches of whole graphs, where their nodes were not recorded, are
 * listed with them. */
#include <string.h>

#include "analysis/section.h"
#include "analysis/series.h"

#define COLUMNS(X)                                            \
    X(TIME, "time", "Time", PERCENT, COLUMN_SUM)              \
    X(TOTAL, "total", "Total", NS, COLUMN_SUM | COLUMN_APART) \
    X(CALLS, "calls", "Calls", COUNT, COLUMN_SUM)             \
    SUMMARY_COLUMNS(X, NS)                                    \
    X(GRID, "grid", "Grid", TEXT, COLUMN_OPTIONAL)            \
    X(BLOCK, "block", "Block", TEXT, COLUMN_OPTIONAL)         \
    X(NAME, "name", "Name", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

struct kernel_key {
    uint64_t name;             /* of the trace's strings */
    int64_t grid[3], block[3]; /* by grid alone, else the key ends before them */
};

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct kernel_key key = {.name = event->name};
    if (!trace->options->by_grid)
        return series_by_add(state, &key, sizeof(key.name), event->duration);
    memcpy(key.grid, event->grid, sizeof(key.grid));
    memcpy(key.block, event->block, sizeof(key.block));
    return series_by_add(state, &key, sizeof(key), event->duration);
}

static struct cell size_cell(struct table *table, const int64_t size[3])
{
    if (size[0] == EVENT_NONE || size[1] == EVENT_NONE || size[2] == EVENT_NONE)
        return (struct cell){0};
    return table_format(table, "%lldx%lldx%lld", (long long)size[0], (long long)size[1], (long long)size[2]);
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct series_by *durations = state;
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
        table_write_summary(&row[COLUMN_AVG], &summary);
        row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)key->name);
        if (!trace->options->by_grid)
            continue;
        row[COLUMN_GRID] = size_cell(table, key->grid);
        row[COLUMN_BLOCK] = size_cell(table, key->block);
    }
    return 0;
}

static void release(void *state)
{
    series_by_release(state);
}

const struct section section_kernels = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_KERNEL},
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_KERNEL) | CATEGORY_BIT(CATEGORY_GPU_GRAPH),
    .state_size = sizeof(struct series_by),
    .event = event,
    .finish = finish,
    .release = release,
};
