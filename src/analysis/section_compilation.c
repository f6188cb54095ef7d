/*
 * Phases of compilation by what they were for, and what the just-in-time compiler did in them. Phases lie within each
 * other and beside each other, so there are no sums: `passed` counts time once in which several went on, and the last
 * row tells how much of it there was in all.
 */
#include "analysis/errors.h"
#include "analysis/section.h"
#include "analysis/series.h"

#define COMPILATION_COLUMNS(X)                                  \
    X(TOTAL, "total", "Total", NS, COLUMN_APART)                \
    X(PASSED, "passed", "Passed", NS, COLUMN_APART)             \
    X(COUNT, "count", "Count", COUNT, 0)                        \
    SUMMARY_COLUMNS(X, NS)                                      \
    X(FAILURES, "failures", "Failures", COUNT, 0)               \
    X(HITS, "cache_hits", "Cache hits", COUNT, COLUMN_OPTIONAL) \
    X(ERRORS, "errors", "Errors", TEXT, COLUMN_OPTIONAL)        \
    X(NAME, "name", "Name", TEXT, 0)

static const struct column compilation_columns[] = {COMPILATION_COLUMNS(COLUMN_ROW)};

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

static int event(void *state, const struct trace *trace, const struct event_fields *event)
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
    enum { COMPILATION_COLUMNS(COLUMN_ENUM) };
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
    enum { COMPILATION_COLUMNS(COLUMN_ENUM) };
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
    .columns = compilation_columns,
    .column_count = sizeof(compilation_columns) / sizeof(*compilation_columns),
    .sources = {TRACE_COMPILE},
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_COMPILATION),
    .state_size = sizeof(struct compilation),
    .event = event,
    .finish = finish,
    .release = release,
};

/* Each phase of compilation, the longest first: when it was, on which thread, in which function, and how it ended. */

#define PHASES_COLUMNS(X)                                   \
    X(DURATION, "duration", "Duration", NS, COLUMN_APART)   \
    X(AT, "at", "At", NS, COLUMN_APART)                     \
    X(NAME, "name", "Name", TEXT, 0)                        \
    X(RESULT, "result", "Result", NUMBER, COLUMN_MACHINE)   \
    X(ERROR, "error", "Error", TEXT, COLUMN_OPTIONAL)       \
    X(CACHE, "cache", "Cache", TEXT, COLUMN_OPTIONAL)       \
    X(ENDING, "ending", "Ended by", TEXT, COLUMN_OPTIONAL)  \
    X(PROCESS, "process", "Process", TEXT, COLUMN_OPTIONAL) \
    X(THREAD, "thread", "Thread", TEXT, COLUMN_OPTIONAL)    \
    X(FUNCTION, "function", "Function", TEXT, COLUMN_OPTIONAL)

static const struct column phases_columns[] = {PHASES_COLUMNS(COLUMN_ROW)};

struct phase {
    int64_t start, duration, result, cache_hit, thread;
    event_id process;
    uint32_t name, function, ending;
};

struct phases {
    ARRAY(struct phase) items;
};

static int event_phase(void *state, const struct trace *trace, const struct event_fields *event)
{
    (void)trace;
    struct phases *phases = state;
    if (event->phase != 'X')
        return 0;
    struct phase *phase = array_push(&phases->items);
    if (!phase)
        return -1;
    *phase = (struct phase){
        .start = event->start,
        .duration = event->duration,
        .result = event->return_value,
        .cache_hit = event->cache_hit,
        .thread = event->of_thread,
        .process = event->process,
        .name = event->name,
        .function = event->function,
        .ending = event->ending,
    };
    return 0;
}

static struct cell thread_cell(const struct trace *trace, struct table *table, const struct phase *phase)
{
    if (phase->thread == EVENT_NONE)
        return (struct cell){0};
    int64_t index = trace_find_thread(trace, phase->process, phase->thread);
    if (index != EVENT_NONE)
        return trace_thread_cell(trace, table, (uint32_t)index);
    return table_format(table, "thread %lld", (long long)phase->thread);
}

static int write_phase(const struct trace *trace, struct table *table, const struct phase *phase)
{
    enum { PHASES_COLUMNS(COLUMN_ENUM) };
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    row[COLUMN_DURATION] = cell_integer(phase->duration);
    row[COLUMN_AT] = cell_integer(phase->start - trace->start);
    row[COLUMN_NAME] = trace_text_cell(trace, table, phase->name);
    if (phase->result != 0)
        row[COLUMN_RESULT] = trace_number_cell(phase->result);
    row[COLUMN_ERROR] = driver_error_cell(table, phase->result);
    if (phase->cache_hit != EVENT_NONE)
        row[COLUMN_CACHE] = table_text(table, phase->cache_hit == 1 ? "hit" : "miss");
    row[COLUMN_ENDING] = trace_text_cell(trace, table, phase->ending);
    if (trace->host_processes > 1)
        row[COLUMN_PROCESS] = trace_process_cell(trace, table, phase->process);
    row[COLUMN_THREAD] = thread_cell(trace, table, phase);
    row[COLUMN_FUNCTION] = trace_text_cell(trace, table, phase->function);
    return 0;
}

static int finish_phases(void *state, const struct trace *trace, struct table *table)
{
    struct phases *phases = state;
    for (size_t i = 0; i < phases->items.count; i++)
        if (write_phase(trace, table, &phases->items.items[i]) < 0)
            return -1;
    return 0;
}

static void release_phases(void *state)
{
    struct phases *phases = state;
    array_release(&phases->items);
}

const struct section section_phases = {
    .columns = phases_columns,
    .column_count = sizeof(phases_columns) / sizeof(*phases_columns),
    .sources = {TRACE_COMPILE},
    .sort = "duration",
    .categories = CATEGORY_BIT(CATEGORY_COMPILATION),
    .state_size = sizeof(struct phases),
    .event = event_phase,
    .finish = finish_phases,
    .release = release_phases,
};
