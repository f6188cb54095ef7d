/* Lines that plugins printed, and the time that the program spent in them, which the first row of each shows. */
#include "analysis/section.h"

struct plugin_row {
    uint32_t name, text, stack;
    event_id process;
    bool has_process;
    int64_t calls, ns;
};

static struct cell fill_plugin_process(struct row *row, const struct column *column)
{
    return ((const struct plugin_row *)row->item)->has_process ? fill_process(row, column) : (struct cell){0};
}

static const struct column columns[] = {
    {"plugin", "Plugin", TYPE_TEXT, 0, fill_name, FROM_ITEM(plugin_row, name)},
    {"process", "Process", TYPE_TEXT, COLUMN_OPTIONAL, fill_plugin_process, FROM_ITEM(plugin_row, process)},
    {"calls", "Calls", TYPE_COUNT, COLUMN_OPTIONAL, fill_number, FROM_ITEM(plugin_row, calls)},
    {"time", "Time", TYPE_NS, COLUMN_OPTIONAL, fill_number, FROM_ITEM(plugin_row, ns)},
    {"line", "Line", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_ITEM(plugin_row, text)},
    {"stack", "Stack", TYPE_TEXT, COLUMN_MACHINE, fill_name, FROM_ITEM(plugin_row, stack)},
};

/* FIRST is the first of its lines. */
static int write_plugin(struct row *row, const struct trace_plugin *plugin, const struct trace_plugin_line *first)
{
    struct plugin_row item = {.name = plugin->name,
                              .process = event_id_number(plugin->pid),
                              .has_process = plugin->pid != EVENT_NONE,
                              .calls = plugin->calls,
                              .ns = plugin->ns};
    for (size_t i = 0; i == 0 || i < plugin->lines; i++) {
        item.text = i < plugin->lines ? first[i].text : EVENT_NO_TEXT;
        item.stack = i < plugin->lines ? first[i].stack : EVENT_NO_TEXT;
        if (section_row(row, NULL, &item) < 0)
            return -1;
        item.calls = item.ns = EVENT_NONE;
    }
    return 0;
}

static int finish(struct row *row)
{
    const struct trace_plugin_line *line = row->trace->plugin_lines.items;
    for (size_t i = 0; i < row->trace->plugins.count; i++) {
        const struct trace_plugin *plugin = &row->trace->plugins.items[i];
        if (write_plugin(row, plugin, line) < 0)
            return -1;
        line += plugin->lines;
    }
    return 0;
}

const struct section section_plugins = {
    SECTION_COLUMNS(columns),
    .finish = finish,
};
