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

static int finish(void *state, const struct trace *trace, struct table *table)
{
    const struct failures *failures = &trace->failures;
    (void)state;
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

const struct section section_errors = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_API},
    .sort = "count",
    .finish = finish,
};
