/* Each phase of compilation, the longest first: when it was, on which thread, in which function, and how it ended. */
#include "analysis/errors.h"
#include "analysis/section.h"

#define COLUMNS(X)                                          \
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

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

struct phase {
    int64_t start, duration, result, cache_hit, thread;
    event_id process;
    uint32_t name, function, ending;
};

struct phases {
    ARRAY(struct phase) items;
};

static int event(void *state, const struct trace *trace, const struct trace_event *event)
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

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct phases *phases = state;
    for (size_t i = 0; i < phases->items.count; i++)
        if (write_phase(trace, table, &phases->items.items[i]) < 0)
            return -1;
    return 0;
}

static void release(void *state)
{
    struct phases *phases = state;
    array_release(&phases->items);
}

const struct section section_phases = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_COMPILE},
    .sort = "duration",
    .categories = EVENT_BIT(EVENT_COMPILATION),
    .state_size = sizeof(struct phases),
    .event = event,
    .finish = finish,
    .release = release,
};
