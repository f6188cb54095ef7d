/*
 * What plugins have to say at the end: their lines, with the frames of their stacks named.
 */
#include "trace/build/conversion.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"

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
    for (size_t i = 0; i < process->plugins.lines.count; i++)
        lines += process->plugins.lines.items[i].plugin == known->number;
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
    for (size_t i = 0; i < process->plugins.lines.count; i++) {
        const struct plugin_line *line = &process->plugins.lines.items[i];
        if (line->plugin == known->number && add_line(conversion, process, line, plugin) != 0)
            return -1;
    }
    return 0;
}

int gather_plugins(struct conversion *conversion)
{
    size_t count = 0;
    for (size_t i = 0; i < conversion->processes.count; i++)
        count += conversion_process(conversion, i)->plugins.items.count;
    if (count == 0)
        return 0;
    conversion->plugins.items = calloc(count, sizeof(*conversion->plugins.items));
    if (!conversion->plugins.items)
        return error_no_memory("plugins");
    for (size_t i = 0; i < conversion->processes.count; i++) {
        struct process *process = conversion_process(conversion, i);
        for (size_t k = 0; k < process->plugins.items.count; k++)
            if (add_plugin(conversion, process, &process->plugins.items.items[k]) != 0)
                return -1;
    }
    return 0;
}
