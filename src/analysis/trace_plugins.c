/* What gputrace's metadata tells of plugins: see section_plugins.c. */
#include <stdio.h>
#include <string.h>

#include "common/sink.h"
#include "analysis/frame.h"
#include "analysis/metadata.h"
#include "analysis/trace.h"

static int take_text(struct trace *trace, const char *text, size_t length, uint32_t *number)
{
    *number = intern(&trace->strings, text, length);
    return *number == INTERN_NO_MEMORY ? -1 : 0;
}

static int take_stack(struct trace *trace, const cJSON *stack, uint32_t *number)
{
    struct sink text;
    if (!cJSON_IsArray(stack) || !stack->child)
        return 0;
    sink_init_memory(&text);
    for (const cJSON *frame = stack->child; frame; frame = frame->next) {
        if (frame != stack->child)
            sink_text(&text, " < ");
        frame_put_calls(&text, frame);
    }
    int status = sink_finish(&text) == 0 ? take_text(trace, text.data, text.length, number) : -1;
    sink_release(&text);
    return status;
}

static int take_line(struct trace *trace, const cJSON *line)
{
    const char *text = metadata_text(line, "text");
    struct trace_plugin_line *added = array_push(&trace->plugin_lines);
    if (!added)
        return -1;
    added->text = added->stack = EVENT_NO_TEXT;
    if (text && take_text(trace, text, strlen(text), &added->text) < 0)
        return -1;
    return take_stack(trace, cJSON_GetObjectItemCaseSensitive(line, "stack"), &added->stack);
}

static int take_plugin(struct trace *trace, const cJSON *plugin)
{
    const char *name = metadata_text(plugin, "name");
    if (!name)
        return 0;
    struct trace_plugin *added = array_push(&trace->plugins);
    if (!added || take_text(trace, name, strlen(name), &added->name) < 0)
        return -1;
    added->pid = metadata_number(plugin, "pid");
    added->calls = metadata_number(plugin, "calls");
    added->ns = metadata_number(plugin, "time_ns");
    const cJSON *lines = cJSON_GetObjectItemCaseSensitive(plugin, "lines");
    for (const cJSON *line = cJSON_IsArray(lines) ? lines->child : NULL; line; line = line->next, added->lines++)
        if (take_line(trace, line) < 0)
            return -1;
    return 0;
}

int trace_plugins(struct trace *trace, const cJSON *plugins)
{
    for (const cJSON *plugin = cJSON_IsArray(plugins) ? plugins->child : NULL; plugin; plugin = plugin->next)
        if (take_plugin(trace, plugin) < 0)
            return -1;
    return 0;
}
