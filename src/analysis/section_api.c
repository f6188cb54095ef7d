/* Runtime and driver calls by name, how many of them failed, and with which errors. */
#include "analysis/errors.h"
#include "analysis/section.h"
#include "analysis/series.h"

#define COLUMNS(X)                                            \
    X(TIME, "time", "Time", PERCENT, COLUMN_SUM)              \
    X(TOTAL, "total", "Total", NS, COLUMN_SUM | COLUMN_APART) \
    X(CALLS, "calls", "Calls", COUNT, COLUMN_SUM)             \
    SUMMARY_COLUMNS(X, NS)                                    \
    X(FAILURES, "failures", "Failures", COUNT, COLUMN_SUM)    \
    X(ERRORS, "errors", "Errors", TEXT, COLUMN_OPTIONAL)      \
    X(NAME, "name", "Name", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

struct api_row {
    struct series durations;
    struct errors failures;
};

struct api {
    struct groups groups; /* of names */
    ARRAY(struct api_row) rows;
};

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct api *api = state;
    uint64_t key = event->name;
    struct api_row *row = groups_item(&api->groups, &key, &api->rows);
    if (!row)
        return -1;
    if (errors_is_failure(&trace->strings, event))
        errors_add(&row->failures, event);
    return series_add(&row->durations, event->duration);
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct api *api = state;
    int64_t all = 0;
    for (size_t i = 0; i < api->rows.count; i++)
        all = series_plus(all, &api->rows.items[i].durations);
    for (size_t i = 0; i < api->rows.count; i++) {
        const uint64_t *name = groups_key(&api->groups, i);
        struct summary summary = series_summary(&api->rows.items[i].durations);
        struct cell *row = table_row(table);
        if (!row)
            return -1;
        row[COLUMN_TIME] = cell_share(summary.total, all);
        row[COLUMN_TOTAL] = cell_integer(summary.total);
        row[COLUMN_CALLS] = cell_integer(summary.count);
        table_write_summary(&row[COLUMN_AVG], &summary);
        row[COLUMN_FAILURES] = cell_integer((int64_t)api->rows.items[i].failures.count);
        row[COLUMN_ERRORS] = errors_cell(&api->rows.items[i].failures, table);
        row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)*name);
    }
    return 0;
}

static void release(void *state)
{
    struct api *api = state;
    for (size_t i = 0; i < api->rows.count; i++)
        series_release(&api->rows.items[i].durations);
    array_release(&api->rows);
    groups_release(&api->groups);
}

const struct section section_api = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_API},
    .sort = "total",
    .categories = CATEGORIES_API,
    .state_size = sizeof(struct api),
    .event = event,
    .finish = finish,
    .release = release,
};
