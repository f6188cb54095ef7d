/* Runtime and driver calls by name, how many of them failed, and with which errors; and all failures. */
#include "analysis/engine/errors.h"
#include "analysis/engine/section.h"

struct api_row {
    TALLY_SERIES(times);
    struct errors failures;
};

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    const struct name_key key = {event->name};
    struct api_row *row = tally_item(state, &key, struct api_row);
    if (!row)
        return -1;
    if (errors_is_failure(&trace->strings, event))
        errors_add(&row->failures, event);
    return series_add(&row->times, event->duration);
}

static const struct column api_columns[] = {
    COLUMN_SHARE(api_row, times),
    COLUMN_TOTAL(COLUMN_SUM, api_row, times),
    COLUMN_COUNT("calls", "Calls", COLUMN_SUM, api_row, times),
    COLUMNS_SUMMARY("", TYPE_NS, api_row, times),
    {"failures", "Failures", TYPE_COUNT, COLUMN_SUM | COLUMN_BAD, fill_number, FROM_ITEM(api_row, failures.count)},
    {"errors", "Errors", TYPE_TEXT, COLUMN_OPTIONAL | COLUMN_BAD, fill_errors, FROM_ITEM(api_row, failures)},
    COLUMN_NAME,
};

const struct section section_api = {
    SECTION_COLUMNS(api_columns),
    SECTION_TALLY(struct api_row),
    .sources = {TRACE_API},
    .comparable =
        {.noun = "call", .keys = {"name"}, .total = "total", .count = "calls", .each = "med", .floor = FLOOR_HOST},
    .sort = "total",
    .categories = CATEGORIES_API,
    .event = event,
};

/*
 * Calls that failed, by function and error: how often, and when the first and the last of them began. What came before
 * the first error of all is usually the cause of those that follow.
 */

static struct cell fill_failure(struct report_row *row, const struct column *column)
{
    const struct failure_key *key = row->key;
    return error_cell(row->table, key->of_runtime, key->code);
}

static const struct column error_columns[] = {
    {"count", "Count", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(failure, count)},
    {"first", "First at", TYPE_NS, COLUMN_MOMENT, fill_time, FROM_ITEM(failure, first)},
    {"last", "Last at", TYPE_NS, COLUMN_MOMENT, fill_time, FROM_ITEM(failure, last)},
    {"code", "Code", TYPE_NUMBER, COLUMN_MACHINE, fill_number, FROM_KEY(failure_key, code)},
    {"error", "Error", TYPE_TEXT, COLUMN_BAD, .fill = fill_failure},
    {"name", "Name", TYPE_TEXT, 0, fill_name, FROM_KEY(failure_key, name)},
};

static void finish_errors(struct report_row *row)
{
    section_array(row, &row->trace->failures.keys, &row->trace->failures.items);
}

const struct section section_errors = {
    SECTION_COLUMNS(error_columns),
    .sources = {TRACE_API},
    .comparable = {.noun = "error", .keys = {"name", "error"}, .count = "count", .floor = FLOOR_HOST},
    .sort = "count",
    .finish = finish_errors,
};
