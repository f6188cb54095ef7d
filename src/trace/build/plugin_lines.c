/*
 * What plugins have to say at the end: their lines, with the frames of their stacks named.
 */
#include "trace/build/plugin_lines.h"

#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "trace/build/plugins.h"
#include "trace/build/stacks.h"

void convert_plugins_release(struct convert_plugins *plugins)
{
    for (size_t i = 0; i < plugins->count; i++) {
        struct convert_plugin *plugin = &plugins->items[i];
        for (size_t k = 0; k < plugin->line_count; k++) {
            free(plugin->lines[k].text);
            free(plugin->lines[k].frames);
        }
        free(plugin->lines);
        free(plugin->name);
    }
    free(plugins->items);
    *plugins = (struct convert_plugins){0};
}

static int add_line(struct conversion *conversion, struct process *process, const struct plugin_line *said,
                    struct convert_plugin *plugin)
{
    struct convert_line *line = &plugin->lines[plugin->line_count];
    line->text = malloc((size_t)said->text.length + 1);
    if (!line->text)
        return error_no_memory("lines of plugins");
    plugin->line_count++;
    memcpy(line->text, said->text.text, said->text.length);
    line->text[said->text.length] = '\0';
    line->length = said->text.length;
    return stack_frames(conversion, process, said->stack, &line->frames, &line->frame_count);
}

static int add_plugin(struct conversion *conversion, struct process *process, const struct plugin *known)
{
    struct convert_plugin *plugin = &conversion->plugins.items[conversion->plugins.count];
    size_t lines = 0;
    for (size_t i = 0; i < process->plugins->lines.count; i++)
        lines += process->plugins->lines.items[i].plugin == known->number;
    plugin->name = plugin_name(process, known->number);
    if (!plugin->name)
        return -1;
    conversion->plugins.count++;
    plugin->pid = process->pid;
    plugin->calls = known->calls;
    plugin->ns = known->ns;
    plugin->lines = calloc(lines + 1, sizeof(*plugin->lines));
    if (!plugin->lines)
        return error_no_memory("lines of plugins");
    for (size_t i = 0; i < process->plugins->lines.count; i++) {
        const struct plugin_line *line = &process->plugins->lines.items[i];
        if (line->plugin == known->number && add_line(conversion, process, line, plugin) != 0)
            return -1;
    }
    return 0;
}

int gather_plugins(struct conversion *conversion)
{
    size_t count = 0;
    for (size_t i = 0; i < conversion->processes.count; i++)
        count += conversion_process(conversion, i)->plugins->items.count;
    if (count == 0)
        return 0;
    conversion->plugins.items = calloc(count, sizeof(*conversion->plugins.items));
    if (!conversion->plugins.items)
        return error_no_memory("plugins");
    for (size_t i = 0; i < conversion->processes.count; i++) {
        struct process *process = conversion_process(conversion, i);
        for (size_t k = 0; k < process->plugins->items.count; k++)
            if (add_plugin(conversion, process, &process->plugins->items.items[k]) != 0)
                return -1;
    }
    return 0;
}

/*
 * Plugins in the metadata: who they are, what their callbacks took, what they have to say.
 */

static void put_u64(struct json_out *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_u64(json, value);
}

static void put_text(struct json_out *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}

static void put_line(const struct convert_line *line, struct json_out *json)
{
    json_begin_object(json);
    json_key(json, "text");
    json_string_n(json, line->text, line->length);
    if (line->frame_count > 0) {
        json_key(json, "stack");
        json_begin_array(json);
        for (size_t i = 0; i < line->frame_count; i++)
            put_frame(&line->frames[i], json);
        json_end(json);
    }
    json_end(json);
}

static void put_plugin(const struct convert_plugin *plugin, struct json_out *json)
{
    json_begin_object(json);
    put_text(json, "name", plugin->name);
    put_u64(json, "pid", plugin->pid);
    put_u64(json, "calls", plugin->calls);
    put_u64(json, "time_ns", plugin->ns);
    json_key(json, "lines");
    json_begin_array(json);
    for (size_t i = 0; i < plugin->line_count; i++)
        put_line(&plugin->lines[i], json);
    json_end(json);
    json_end(json);
}

void put_plugins(const struct convert_plugins *plugins, struct json_out *json)
{
    json_begin_array(json);
    for (size_t i = 0; i < plugins->count; i++)
        put_plugin(&plugins->items[i], json);
    json_end(json);
}
