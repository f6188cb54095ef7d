/* Runtime and driver calls by name, and how many of them failed. */
#include "tool/report/section.h"
#include "tool/report/series.h"

#define COLUMNS(X)                                            \
    X(TIME, "time", "Time", PERCENT, COLUMN_SUM)              \
    X(TOTAL, "total", "Total", NS, COLUMN_SUM | COLUMN_APART) \
    X(CALLS, "calls", "Calls", COUNT, COLUMN_SUM)             \
    SUMMARY_COLUMNS(X, NS)                                    \
    X(FAILURES, "failures", "Failures", COUNT, COLUMN_SUM)    \
    X(NAME, "name", "Name", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

struct api {
    struct series_by durations; /* by the name's number */
    ARRAY(int64_t) failures;
};

static int event(void *state, const struct trace *trace, const struct trace_event *event)
{
    (void)trace;
    struct api *api = state;
    uint64_t key = event->name;
    if (series_by_add(&api->durations, &key, sizeof(key), event->duration) < 0)
        return -1;
    int64_t *failures = groups_item(&api->durations.groups, &key, &api->failures);
    if (failures)
        *failures += event->return_value != EVENT_NONE && event->return_value != 0;
    return failures ? 0 : -1;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct api *api = state;
    int64_t all = series_by_total(&api->durations);
    for (size_t i = 0; i < api->durations.items.count; i++) {
        const uint64_t *name = groups_key(&api->durations.groups, i);
        struct summary summary = series_summary(&api->durations.items.items[i]);
        struct cell *row = table_row(table);
        if (!row)
            return -1;
        row[COLUMN_TIME] = cell_share(summary.total, all);
        row[COLUMN_TOTAL] = cell_integer(summary.total);
        row[COLUMN_CALLS] = cell_integer(summary.count);
        table_put_summary(&row[COLUMN_AVG], &summary);
        row[COLUMN_FAILURES] = cell_integer(api->failures.items[i]);
        row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)*name);
    }
    return 0;
}

static void release(void *state)
{
    struct api *api = state;
    series_by_release(&api->durations);
    array_release(&api->failures);
}

const struct section section_api = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sort = "total",
    .categories = EVENT_API,
    .state_size = sizeof(struct api),
    .event = event,
    .finish = finish,
    .release = release,
};
