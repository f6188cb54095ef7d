/* Copies and sets by what they did ("Memcpy HtoD (Pinned -> Device)"): once by the time they took, once by what they
 * moved. Bandwidth is all bytes of a row by all its time. */
#include "analysis/section.h"
#include "analysis/series.h"

#define TIME_COLUMNS(X)                                       \
    X(TIME, "time", "Time", PERCENT, COLUMN_SUM)              \
    X(TOTAL, "total", "Total", NS, COLUMN_SUM | COLUMN_APART) \
    X(COUNT, "count", "Count", COUNT, COLUMN_SUM)             \
    SUMMARY_COLUMNS(X, NS)                                    \
    X(BANDWIDTH, "bandwidth", "Bandwidth", RATE, 0)           \
    X(NAME, "name", "Operation", TEXT, 0)

#define SIZE_COLUMNS(X)                             \
    X(SHARE, "share", "Bytes", PERCENT, COLUMN_SUM) \
    X(TOTAL, "total", "Total", BYTES, COLUMN_SUM)   \
    X(COUNT, "count", "Count", COUNT, COLUMN_SUM)   \
    SUMMARY_COLUMNS(X, BYTES)                       \
    X(BANDWIDTH, "bandwidth", "Bandwidth", RATE, 0) \
    X(NAME, "name", "Operation", TEXT, 0)

/* Both tables have the same kinds of columns in the same places. */
enum { TIME_COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column time_columns[] = {TIME_COLUMNS(COLUMN_ROW)};
static const struct column size_columns[] = {SIZE_COLUMNS(COLUMN_ROW)};
_Static_assert(sizeof(time_columns) == sizeof(size_columns), "the tables differ in their units alone");

struct operations {
    struct series_by durations, sizes; /* both by the name's number */
};

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    (void)trace;
    struct operations *operations = state;
    uint64_t key = event->name;
    int64_t bytes = event->bytes > 0 ? event->bytes : 0;
    if (series_by_add(&operations->durations, &key, sizeof(key), event->duration) < 0)
        return -1;
    return series_by_add(&operations->sizes, &key, sizeof(key), bytes);
}

/* Fills TABLE from SHOWN, one of the two. */
static int fill(struct operations *operations, struct series_by *shown, const struct trace *trace, struct table *table)
{
    int64_t all = series_by_total(shown);
    for (size_t i = 0; i < shown->items.count; i++) {
        const uint64_t *name = groups_key(&shown->groups, i);
        struct summary summary = series_summary(&shown->items.items[i]);
        int64_t ns = operations->durations.items.items[i].total, bytes = operations->sizes.items.items[i].total;
        struct cell *row = table_row(table);
        if (!row)
            return -1;
        row[COLUMN_TIME] = cell_share(summary.total, all);
        row[COLUMN_TOTAL] = cell_integer(summary.total);
        row[COLUMN_COUNT] = cell_integer(summary.count);
        table_write_summary(&row[COLUMN_AVG], &summary);
        if (ns > 0)
            row[COLUMN_BANDWIDTH] = cell_real((double)bytes / (double)ns); /* bytes a ns are GB a second */
        row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)*name);
    }
    return 0;
}

static int finish_time(void *state, const struct trace *trace, struct table *table)
{
    struct operations *operations = state;
    return fill(operations, &operations->durations, trace, table);
}

static int finish_size(void *state, const struct trace *trace, struct table *table)
{
    struct operations *operations = state;
    return fill(operations, &operations->sizes, trace, table);
}

static void release(void *state)
{
    struct operations *operations = state;
    series_by_release(&operations->durations);
    series_by_release(&operations->sizes);
}

const struct section section_memtime = {
    .columns = time_columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_MEMCPY | TRACE_MEMSET},
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_GPU_MEMCPY) | CATEGORY_BIT(CATEGORY_GPU_MEMSET),
    .state_size = sizeof(struct operations),
    .event = event,
    .finish = finish_time,
    .release = release,
};

const struct section section_memsize = {
    .columns = size_columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_MEMCPY | TRACE_MEMSET},
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_GPU_MEMCPY) | CATEGORY_BIT(CATEGORY_GPU_MEMSET),
    .state_size = sizeof(struct operations),
    .event = event,
    .finish = finish_size,
    .release = release,
};
