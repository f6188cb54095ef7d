/* Lines that plugins printed, and the time that the program spent in them, which the first row of each shows. */
#include "analysis/section.h"

#define COLUMNS(X)                                          \
    X(PLUGIN, "plugin", "Plugin", TEXT, 0)                  \
    X(PROCESS, "process", "Process", TEXT, COLUMN_OPTIONAL) \
    X(CALLS, "calls", "Calls", COUNT, COLUMN_OPTIONAL)      \
    X(TIME, "time", "Time", NS, COLUMN_OPTIONAL)            \
    X(LINE, "line", "Line", TEXT, COLUMN_OPTIONAL)          \
    X(STACK, "stack", "Stack", TEXT, COLUMN_MACHINE)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

static struct cell *write_row(const struct trace *trace, struct table *table, const struct trace_plugin *plugin)
{
    struct cell *row = table_row(table);
    if (!row)
        return NULL;
    row[COLUMN_PLUGIN] = trace_text_cell(trace, table, plugin->name);
    if (trace->host_processes > 1 && plugin->pid != EVENT_NONE)
        row[COLUMN_PROCESS] = trace_process_cell(trace, table, event_id_number(plugin->pid));
    return row;
}

/* FIRST is the number of its first line. */
static int write_plugin(const struct trace *trace, struct table *table, const struct trace_plugin *plugin, size_t first)
{
    size_t rows = plugin->lines > 0 ? plugin->lines : 1;
    for (size_t i = 0; i < rows; i++) {
        struct cell *row = write_row(trace, table, plugin);
        if (!row)
            return -1;
        if (i == 0) {
            row[COLUMN_CALLS] = trace_number_cell(plugin->calls);
            row[COLUMN_TIME] = trace_number_cell(plugin->ns);
        }
        if (i < plugin->lines) {
            const struct trace_plugin_line *line = &trace->plugin_lines.items[first + i];
            row[COLUMN_LINE] = trace_text_cell(trace, table, line->text);
            row[COLUMN_STACK] = trace_text_cell(trace, table, line->stack);
        }
    }
    return 0;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    (void)state;
    size_t line = 0;
    for (size_t i = 0; i < trace->plugins.count; i++) {
        if (write_plugin(trace, table, &trace->plugins.items[i], line) < 0)
            return -1;
        line += trace->plugins.items[i].lines;
    }
    return 0;
}

const struct section section_plugins = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .finish = finish,
};
