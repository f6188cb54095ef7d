/*
 * API calls that failed, by function and error: how often, and when the first and the last of them began. What came
 * before the first error of all is usually the cause of those that follow.
 */
#include "analysis/errors.h"
#include "analysis/section.h"

#define COLUMNS(X)                                  \
    X(COUNT, "count", "Count", COUNT, COLUMN_SUM)   \
    X(FIRST, "first", "First at", NS, 0)            \
    X(LAST, "last", "Last at", NS, 0)               \
    X(CODE, "code", "Code", NUMBER, COLUMN_MACHINE) \
    X(ERROR, "error", "Error", TEXT, 0)             \
    X(NAME, "name", "Name", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

struct failure_key {
    uint64_t name;
    int64_t code, of_runtime;
};

struct failure {
    int64_t count, first, last;
};

struct failures {
    struct groups keys; /* struct failure_key */
    ARRAY(struct failure) items;
};

static int event(void *state, const struct trace *trace, const struct trace_event *event)
{
    struct failures *failures = state;
    if (!errors_is_failure(&trace->strings, event))
        return 0;
    struct failure_key key = {event->name, event->return_value, event->category == EVENT_RUNTIME};
    struct failure *failure = groups_item(&failures->keys, &key, &failures->items);
    if (!failure)
        return -1;
    failure->first = failure->count == 0 || event->start < failure->first ? event->start : failure->first;
    failure->last = failure->count == 0 || event->start > failure->last ? event->start : failure->last;
    failure->count++;
    return 0;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct failures *failures = state;
    for (size_t i = 0; i < failures->items.count; i++) {
        const struct failure_key *key = groups_key(&failures->keys, i);
        const struct failure *failure = &failures->items.items[i];
        struct cell *row = table_row(table);
        if (!row)
            return -1;
        row[COLUMN_COUNT] = cell_integer(failure->count);
        row[COLUMN_FIRST] = cell_integer(failure->first - trace->start);
        row[COLUMN_LAST] = cell_integer(failure->last - trace->start);
        row[COLUMN_CODE] = cell_integer(key->code);
        row[COLUMN_ERROR] = error_cell(table, key->of_runtime, key->code);
        row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)key->name);
    }
    return 0;
}

static void release(void *state)
{
    struct failures *failures = state;
    array_release(&failures->items);
    groups_release(&failures->keys);
}

const struct section section_errors = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_API},
    .sort = "count",
    .categories = EVENT_API,
    .state_size = sizeof(struct failures),
    .event = event,
    .finish = finish,
    .release = release,
};
