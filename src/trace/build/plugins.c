#include "trace/build/plugins.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/spool_records.h"

void plugins_release(struct plugins *plugins)
{
    array_release(&plugins->items);
    big_array_release(&plugins->slices);
    array_release(&plugins->lines);
    map_release(&plugins->by_number);
}

static struct plugin *put(struct plugins *plugins, uint32_t number)
{
    uint64_t *index = map_put(&plugins->by_number, number, NULL);
    if (index && *index)
        return &plugins->items.items[*index - 1];
    struct plugin *plugin = index ? array_push(&plugins->items) : NULL;
    if (!plugin) {
        error_no_memory("plugins");
        return NULL;
    }
    *index = plugins->items.count;
    plugin->number = number;
    return plugin;
}

static struct plugin_text text_of(const struct event *event)
{
    return (struct plugin_text){event->text, event->text_length};
}

static int see_plugin(struct plugins *plugins, const struct event *event)
{
    struct plugin *plugin = put(plugins, event->plugin.number);
    if (plugin)
        plugin->name = text_of(event);
    return plugin ? 0 : -1;
}

/* The latest one counts. */
static int see_time(struct plugins *plugins, const struct event *event)
{
    struct plugin *plugin = put(plugins, event->plugin.number);
    if (!plugin)
        return -1;
    if (event->start < plugin->told)
        return 0;
    plugin->told = event->start;
    plugin->calls = event->plugin.calls;
    plugin->ns = event->plugin.ns;
    return 0;
}

static int see_event(struct plugins *plugins, const struct event *event)
{
    if (!put(plugins, event->plugin_event.plugin))
        return -1;
    if (event->plugin_event.what != SPOOL_PLUGIN_SLICE)
        return 0;
    struct plugin_slice *slice = big_array_push(&plugins->slices);
    if (!slice)
        return error_no_memory("slices of plugins");
    *slice = (struct plugin_slice){.record = event->record,
                                   .start = event->start,
                                   .end = event->end,
                                   .plugin = event->plugin_event.plugin,
                                   .thread = event->thread};
    return 0;
}

static int see_line(struct plugins *plugins, const struct event *event)
{
    struct plugin_line *line = put(plugins, event->plugin_line.plugin) ? array_push(&plugins->lines) : NULL;
    if (!line)
        return error_no_memory("lines of plugins");
    *line = (struct plugin_line){.text = text_of(event),
                                 .time = event->start,
                                 .plugin = event->plugin_line.plugin,
                                 .stack = event->plugin_line.stack};
    return 0;
}

int plugins_see(struct plugins *plugins, const struct event *event)
{
    switch (event->type) {
    case EVENT_PLUGIN: return see_plugin(plugins, event);
    case EVENT_PLUGIN_TIME: return see_time(plugins, event);
    case EVENT_PLUGIN_EVENT: return see_event(plugins, event);
    case EVENT_PLUGIN_LINE: return see_line(plugins, event);
    default: return 0;
    }
}

static int outer_first(const void *a, const void *b)
{
    const struct plugin_slice *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    return left->record < right->record ? -1 : left->record > right->record;
}

/* Of one time: as they lie in the spool. */
static int by_time(const void *a, const void *b)
{
    const struct plugin_line *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->text.text < right->text.text ? -1 : left->text.text > right->text.text;
}

static int by_number(const void *a, const void *b)
{
    const struct plugin *left = a, *right = b;
    return left->number < right->number ? -1 : left->number > right->number;
}

#define SORT(array, order)  \
    if ((array)->count > 1) \
    qsort((array)->items, (array)->count, sizeof(*(array)->items), order)

int plugins_close(struct plugins *plugins)
{
    if (big_array_sort(&plugins->slices, outer_first) != 0)
        return error_no_memory("slices of plugins");
    SORT(&plugins->lines, by_time);
    SORT(&plugins->items, by_number);
    for (size_t i = 0; i < plugins->items.count; i++)
        *map_get(&plugins->by_number, plugins->items.items[i].number) = i + 1;
    return 0;
}

const struct plugin *plugins_get(const struct plugins *plugins, uint32_t number)
{
    const uint64_t *index = map_get(&plugins->by_number, number);
    return index && *index ? &plugins->items.items[*index - 1] : NULL;
}
