#include "analysis/table.h"
#include "analysis/trace.h"

struct cell trace_process_cell(const struct trace *trace, struct table *table, event_id id)
{
    const struct trace_process *process = trace_process(trace, id);
    const char *name = process && process->name != EVENT_NO_TEXT ? interned(&trace->strings, process->name) : "process";
    if (event_id_is_text(id))
        return trace_text_cell(trace, table, (uint32_t)(id >> 1));
    return table_format(table, "%s (%lld)", name, (long long)event_id_value(id));
}

struct cell trace_text_cell(const struct trace *trace, struct table *table, uint32_t text)
{
    return text == EVENT_NO_TEXT ? (struct cell){0} : table_text(table, interned(&trace->strings, text));
}

struct cell trace_number_cell(int64_t number)
{
    return number == EVENT_NONE ? (struct cell){0} : cell_integer(number);
}

struct cell trace_count_cell(const struct trace *trace, uint64_t source, int64_t count)
{
    return trace->unrecorded & source ? (struct cell){.kind = CELL_UNRECORDED} : cell_integer(count);
}

struct cell trace_thread_cell(const struct trace *trace, struct table *table, uint32_t thread)
{
    const struct trace_thread_id *id = groups_key(&trace->thread_ids, thread);
    uint32_t name = trace->threads.items[thread].name;
    if (name != EVENT_NO_TEXT && *interned(&trace->strings, name))
        return trace_text_cell(trace, table, name);
    if (event_id_is_text(id->thread))
        return trace_text_cell(trace, table, (uint32_t)(id->thread >> 1));
    return table_format(table, "thread %lld", (long long)event_id_value(id->thread));
}
