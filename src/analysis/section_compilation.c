/*
 * Phases of compilation by what they were for, and what the just-in-time compiler did in them. Phases lie within each
 * other and beside each other, so there are no sums: `passed` counts time once in which several went on, and the last
 * row tells how much of it there was in all.
 */
#include "analysis/errors.h"
#include "analysis/section.h"
#include "analysis/series.h"

#define COLUMNS(X)                                              \
    X(TOTAL, "total", "Total", NS, COLUMN_APART)                \
    X(PASSED, "passed", "Passed", NS, COLUMN_APART)             \
    X(COUNT, "count", "Count", COUNT, 0)                        \
    SUMMARY_COLUMNS(X, NS)                                      \
    X(FAILURES, "failures", "Failures", COUNT, 0)               \
    X(HITS, "cache_hits", "Cache hits", COUNT, COLUMN_OPTIONAL) \
    X(ERRORS, "errors", "Errors", TEXT, COLUMN_OPTIONAL)        \
    X(NAME, "name", "Name", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

struct phase_group {
    struct series durations;
    struct busy busy;
    struct errors failures;
    int64_t hits;
    bool cached; /* some said whether they were found in the cache */
};

struct compilation {
    struct groups names;
    ARRAY(struct phase_group) groups;
};

static int event(void *state, const struct trace *trace, const struct trace_event *event)
{
    struct compilation *compilation = state;
    uint64_t key = event->name;
    struct phase_group *group =
        event->phase == 'X' ? groups_item(&compilation->names, &key, &compilation->groups) : NULL;
    if (!group)
        return event->phase == 'X' ? -1 : 0;
    if (errors_is_failure(&trace->strings, event))
        errors_add(&group->failures, event);
    group->cached |= event->cache_hit != EVENT_NONE;
    group->hits += event->cache_hit == 1;
    if (series_add(&group->durations, event->duration) < 0)
        return -1;
    return busy_add(&group->busy, event->start, event->start + event->duration);
}

static int write_group(const struct trace *trace, struct table *table, uint32_t name, struct phase_group *group)
{
    struct summary summary = series_summary(&group->durations);
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    row[COLUMN_TOTAL] = cell_integer(summary.total);
    row[COLUMN_PASSED] = cell_integer(busy_total(&group->busy));
    row[COLUMN_COUNT] = cell_integer(summary.count);
    table_write_summary(&row[COLUMN_AVG], &summary);
    row[COLUMN_FAILURES] = cell_integer((int64_t)group->failures.count);
    row[COLUMN_ERRORS] = errors_cell(&group->failures, table);
    if (group->cached)
        row[COLUMN_HITS] = cell_integer(group->hits);
    row[COLUMN_NAME] = trace_text_cell(trace, table, name);
    return 0;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct compilation *compilation = state;
    for (size_t i = 0; i < compilation->groups.count; i++) {
        const uint64_t *name = groups_key(&compilation->names, i);
        if (write_group(trace, table, (uint32_t)*name, &compilation->groups.items[i]) < 0)
            return -1;
    }
    struct cell *row = compilation->groups.count > 0 ? table_row(table) : NULL;
    if (!row)
        return table->no_memory ? -1 : 0;
    row[COLUMN_PASSED] = cell_integer(trace->compiling_total);
    row[COLUMN_NAME] = table_text(table, "at least one of them");
    return 0;
}

static void release(void *state)
{
    struct compilation *compilation = state;
    for (size_t i = 0; i < compilation->groups.count; i++) {
        series_release(&compilation->groups.items[i].durations);
        busy_release(&compilation->groups.items[i].busy);
    }
    array_release(&compilation->groups);
    groups_release(&compilation->names);
}

const struct section section_compilation = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_COMPILE},
    .sort = "total",
    .categories = EVENT_BIT(EVENT_COMPILATION),
    .state_size = sizeof(struct compilation),
    .event = event,
    .finish = finish,
    .release = release,
};
