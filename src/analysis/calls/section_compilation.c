/*
 * Sections of compilation: phases of loading, just-in-time compilation and XLA by name, and each phase by itself.
 * Phases nest and overlap, so the totals have no sum: `passed` counts overlaps of a row's phases once, and the last row
 * shows the time in which at least one phase was running.
 */
#include "analysis/engine/errors.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace_known.h"

struct phase_group {
    TALLY_SERIES(durations);
    struct busy_sum passed; /* set by gather() */
    struct errors failures;
    int64_t hits; /* FIELD_ABSENT: not recorded for any phase */
};

struct compilation {
    struct tally phases;
    struct busy busy; /* by the numbers of the items */
};

static void init(void *state, const struct trace *trace)
{
    busy_init(&((struct compilation *)state)->busy, trace->space);
}

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct compilation *compilation = state;
    const struct name_key key = {event->name};
    if (!trace_compiles(trace, event))
        return 0;
    struct phase_group *group = event->phase == 'X' ? tally_item(&compilation->phases, &key, struct phase_group) : NULL;
    if (!group)
        return event->phase == 'X' ? -1 : 0;
    if (group->durations.count == 0)
        group->hits = FIELD_ABSENT;
    if (errors_is_failure(&trace->strings, event))
        errors_add(&group->failures, event);
    if (event_compilation(event)->cache_hit != FIELD_ABSENT)
        group->hits = (group->hits == FIELD_ABSENT ? 0 : group->hits) + (event_compilation(event)->cache_hit == 1);
    if (series_add(&group->durations, event->duration) < 0)
        return -1;
    return busy_add(&compilation->busy, (uint32_t)(group - (struct phase_group *)compilation->phases.items),
                    event->start, event->start + event->duration);
}

static int gather(void *state, const struct trace *trace)
{
    struct compilation *compilation = state;
    struct phase_group *groups = compilation->phases.items;
    const struct busy_interval *one;
    return BUSY_EACH(&compilation->busy, one, busy_sum_add(&groups[one->number].passed, one->start, one->end));
}

enum { COLUMN_PASSED = 1 };

static const struct column compilation_columns[] = {
    COLUMN_TOTAL(0, phase_group, durations),
    [COLUMN_PASSED] = {"passed", "Passed", TYPE_NS, COLUMN_APART, fill_number, FROM_ITEM(phase_group, passed.total)},
    COLUMN_COUNT("count", "Count", 0, phase_group, durations),
    COLUMNS_SUMMARY("", TYPE_NS, phase_group, durations),
    {"failures", "Failures", TYPE_COUNT, 0, fill_number, FROM_ITEM(phase_group, failures.count)},
    {"cache_hits", "Cache hits", TYPE_COUNT, COLUMN_OPTIONAL, fill_number, FROM_ITEM(phase_group, hits)},
    {"errors", "Errors", TYPE_TEXT, COLUMN_OPTIONAL, fill_errors, FROM_ITEM(phase_group, failures)},
    COLUMN_NAME,
};

static void finish(struct report_row *row)
{
    const struct tally *rows = row->state;
    section_rows(row, &rows->keys, rows->items, rows->count, sizeof(struct phase_group));
    struct cell *cells = rows->count > 0 ? table_row(row->table) : NULL;
    if (!cells)
        return;
    cells[COLUMN_PASSED] = cell_integer(row->trace->compiled.total);
    cells[sizeof(compilation_columns) / sizeof(*compilation_columns) - 1] =
        table_text(row->table, "at least one of them");
}

static void release(void *state)
{
    busy_release(&((struct compilation *)state)->busy);
}

const struct section section_compilation = {
    SECTION_COLUMNS(compilation_columns),
    .state_size = sizeof(struct compilation),
    SECTION_STATE_TALLY(struct phase_group),
    .sources = {TRACE_COMPILE},
    .comparable = {.noun = "compilation",
                   .keys = {"name"},
                   .total = "total",
                   .count = "count",
                   .each = "med",
                   .floor = FLOOR_HOST},
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_COMPILATION) | CATEGORY_BIT(CATEGORY_USER_ANNOTATION),
    .init = init,
    .event = event,
    .gather = gather,
    .finish = finish,
    .release = release,
};

/* The section phases lists each phase of compilation, the longest first: its time, thread, function and result. */

struct phase {
    int64_t start, duration, result, cache_hit, thread;
    event_id process;
    uint32_t name, function, ending;
};

static int event_phase(void *state, const struct trace *trace, const struct event_fields *event)
{
    if (event->phase != 'X')
        return 0;
    struct phase *phase = tally_add(state, struct phase);
    if (!phase)
        return -1;
    *phase = (struct phase){
        .start = event->start,
        .duration = event->duration,
        .result = event->return_value == 0 ? FIELD_ABSENT : event->return_value,
        .cache_hit = event_compilation(event)->cache_hit,
        .thread = event->of_thread,
        .process = event->process,
        .name = event->name,
        .function = event_compilation(event)->function,
        .ending = event_compilation(event)->ending,
    };
    return 0;
}

static struct cell fill_cache(struct report_row *row, const struct column *column)
{
    int64_t hit = row_integer(row, column);
    return hit == FIELD_ABSENT ? (struct cell){0} : table_text(row->table, hit == 1 ? "hit" : "miss");
}

static FILL(thread, trace_thread_id_cell(row->trace, row->table, ROW_ITEM(phase)->process, ROW_ITEM(phase)->thread))

    static const struct column phase_columns[] = {
        {"duration", "Duration", TYPE_NS, COLUMN_APART, fill_number, FROM_ITEM(phase, duration)},
        {"at", "At", TYPE_NS, COLUMN_APART | COLUMN_MOMENT, fill_time, FROM_ITEM(phase, start)},
        {"name", "Name", TYPE_TEXT, 0, fill_name, FROM_ITEM(phase, name), .importance = 90},
        {"result", "Result", TYPE_NUMBER, COLUMN_MACHINE, fill_number, FROM_ITEM(phase, result)},
        {"error", "Error", TYPE_TEXT, COLUMN_OPTIONAL | COLUMN_BAD, fill_error, FROM_ITEM(phase, result)},
        {"cache", "Cache", TYPE_TEXT, COLUMN_OPTIONAL, fill_cache, FROM_ITEM(phase, cache_hit)},
        {"ending", "Ended by", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_ITEM(phase, ending)},
        {"process", "Process", TYPE_TEXT, COLUMN_OPTIONAL, fill_process, FROM_ITEM(phase, process)},
        {"thread", "Thread", TYPE_TEXT, COLUMN_OPTIONAL, .fill = fill_thread},
        {"function", "Function", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_ITEM(phase, function)},
};

const struct section section_phases = {
    SECTION_COLUMNS(phase_columns),
    SECTION_PLAIN_TALLY(struct phase),
    .sources = {TRACE_COMPILE},
    .sort = "duration",
    .categories = CATEGORY_BIT(CATEGORY_COMPILATION),
    .event = event_phase,
};
