/*
 * What plugins recorded: slices, instants, counters, and lines, which are shown in the metadata and at the end of a
 * run.
 */
#include "trace/meaning/host/plugins.h"

#include <math.h>
#include <stdio.h>

#include "common/json_out.h"
#include "common/log.h"
#include "trace/meaning/base/times.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/base/stacks.h"
#include "trace/spool/agent_records.h"

static struct plugin *put(struct plugins *plugins, uint32_t number)
{
    struct plugin *plugin = PUT_ITEM(&plugins->items, &plugins->by_number, number);
    if (plugin)
        plugin->number = number;
    else
        error_no_memory("plugins");
    return plugin;
}

static struct plugin_text text_of(const struct event *event)
{
    return (struct plugin_text){event->text, event->text_length};
}

int index_plugin(struct process *process, const struct event *event)
{
    const struct spool_plugin *record = event->record;
    struct plugin *plugin = put(process->plugins, record->plugin);
    if (plugin)
        plugin->name = text_of(event);
    return plugin ? 0 : -1;
}

/* The record with the latest time counts. */
int index_plugin_time(struct process *process, const struct event *event)
{
    const struct spool_plugin_time *record = event->record;
    struct plugin *plugin = put(process->plugins, record->plugin);
    if (!plugin)
        return -1;
    if (event->start < plugin->stated)
        return 0;
    plugin->stated = event->start;
    plugin->calls = record->calls;
    plugin->ns = record->ns;
    return 0;
}

int index_plugin_line(struct process *process, const struct event *event)
{
    const struct spool_plugin_line *record = event->record;
    struct plugin_line *line = put(process->plugins, record->plugin) ? array_push(&process->plugins->lines) : NULL;
    if (!line)
        return error_no_memory("lines of plugins");
    *line = (struct plugin_line){
        .text = text_of(event), .time = event->start, .plugin = record->plugin, .stack = record->stack};
    return 0;
}

ORDER_OUTER_FIRST(outer_first, struct plugin_slice, record)

/* Lines of one time stay in the order of the spool. */
ORDER_BY(by_time, struct plugin_line, time, text.text)
ORDER_BY(by_number, struct plugin, number)

#define SORT(array, order)  \
    if ((array)->count > 1) \
    qsort((array)->items, (array)->count, sizeof(*(array)->items), order)

#define NAME_MAX_BYTES 4096

char *plugin_name(const struct process *process, uint32_t number)
{
    const struct plugin *plugin = FIND_ITEM(&process->plugins->items, &process->plugins->by_number, number);
    char *text = NULL;
    int length;
    if (plugin && plugin->name.length > 0) {
        uint32_t bytes = plugin->name.length < NAME_MAX_BYTES ? plugin->name.length : NAME_MAX_BYTES;
        length = asprintf(&text, "%.*s", (int)bytes, plugin->name.text);
    } else {
        length = asprintf(&text, "%u", number); /* the record with the name was lost */
    }
    if (length >= 0)
        return text;
    error_no_memory("names of plugins");
    return NULL;
}

static bool is_sound(const struct process *process, const struct event *event)
{
    const struct spool_plugin_event *made = event->record;
    if (!process_knows_span(process, event))
        return false;
    switch (made->head.flags) {
    case SPOOL_PLUGIN_SLICE:
    case SPOOL_PLUGIN_INSTANT: return true;
    case SPOOL_PLUGIN_COUNTER: return isfinite(made->value); /* JSON has no word for infinity or NaN */
    default: return false;
    }
}

int index_plugin_event(struct process *process, const struct event *event)
{
    if (!is_sound(process, event)) {
        process->losses.undecoded++;
        return 0;
    }
    if (!capture_intervals_hold(process->capture_intervals, event->start))
        return 0;
    widen_process_time(process, event->start, event->end);
    const struct spool_plugin_event *made = event->record;
    bool row = made->head.flags != SPOOL_PLUGIN_COUNTER;
    if (row && !process_thread(process, TRACK_PLUGIN, made->plugin))
        return -1;
    struct plugins *plugins = process->plugins;
    if (!put(plugins, made->plugin))
        return -1;
    if (made->head.flags != SPOOL_PLUGIN_SLICE)
        return 0;
    const struct plugin_slice slice = {.record = event->record,
                                       .start = event->start,
                                       .end = event->end,
                                       .plugin = made->plugin,
                                       .thread = event->thread};
    return ADD(file_vector_push, &plugins->slices, slice) ? 0 : error_no_memory("slices of plugins");
}

int resolve_plugins(struct process *process)
{
    /* The last record was read: sorts everything. */
    struct plugins *plugins = process->plugins;
    if (file_vector_sort(&plugins->slices, outer_first) != 0)
        return error_no_memory("slices of plugins");
    SORT(&plugins->lines, by_time);
    SORT(&plugins->items, by_number);
    for (size_t i = 0; i < plugins->items.count; i++)
        *map_get(&plugins->by_number, plugins->items.items[i].number) = i + 1;
    for (size_t i = 0; i < process->plugins->slices.count; i++) {
        const struct plugin_slice *slice = &process->plugins->slices.items[i];
        struct track *track = tracks_get(&process->tracks, TRACK_PLUGIN, 0, 0, slice->plugin);
        if (track && lanes_collect_own(&track->lanes, slice->start, slice->end, slice->thread) != 0)
            return -1;
        process_passed(process, i);
    }
    return 0;
}

/* The record's text is the name, followed by the detail. */
static uint32_t name_length(const struct event *event)
{
    const struct spool_plugin_event *made = event->record;
    return made->name_length < event->text_length ? made->name_length : event->text_length;
}

static struct name event_name(const struct event *event)
{
    static const char none[] = "(no name)";
    uint32_t length = name_length(event);
    return length ? name_passing(event->text, length) : name_passing(none, sizeof(none) - 1);
}

static void describe(struct args *args, const struct event *event)
{
    uint32_t name = name_length(event);
    if (event->text_length > name)
        args_text(args, ARG_DETAIL, event->text + name, event->text_length - name);
    args_u64(args, ARG_THREAD, event->thread);
}

int write_plugin_slices(struct piece_writer *out, struct process *process)
{
    for (size_t i = 0; i < process->plugins->slices.count; i++) {
        const struct plugin_slice *made = &process->plugins->slices.items[i];
        struct track *track = tracks_get(&process->tracks, TRACK_PLUGIN, 0, 0, made->plugin);
        const struct event event = agent_read(made->record, made->thread);
        struct args args = {0};
        if (!track)
            continue;
        describe(&args, &event);
        struct row row = track_row_own(track, made->start, made->end, made->thread);
        piece_writer_slice(out, CATEGORY_PLUGIN, event_name(&event), row, made->start, made->end, &args);
        piece_writer_passed(out, process);
    }
    return 0;
}

int write_plugin_event(struct piece_writer *out, struct process *process, const struct event *event)
{
    const struct spool_plugin_event *made = event->record;
    uint16_t what = made->head.flags;
    if (what == SPOOL_PLUGIN_SLICE || !is_sound(process, event) ||
        !capture_intervals_hold(process->capture_intervals, event->start))
        return 0; /* write_plugin_slices() has written slices, enclosing ones first */
    if (what == SPOOL_PLUGIN_COUNTER) {
        struct name name = event_name(event);
        char *plugin = plugin_name(process, made->plugin), *text = NULL;
        uint32_t length = name_length(event) < NAME_MAX_BYTES ? (uint32_t)name.length : NAME_MAX_BYTES;
        if (!plugin || asprintf(&text, "%s: %.*s", plugin, (int)length, name.text) < 0) {
            free(plugin);
            return error_no_memory("names of counters");
        }
        struct counter counter = {.name = name_passing(text, strlen(text)),
                                  .pid = process->pid,
                                  .time = event->start,
                                  .real = true,
                                  .value = made->value};
        out->sink.format->counter(&out->sink, &counter);
        free(plugin);
        free(text);
        return 0;
    }
    const struct track *track = tracks_get(&process->tracks, TRACK_PLUGIN, 0, 0, made->plugin);
    struct args args = {0};
    if (!track)
        return 0;
    describe(&args, event);
    piece_writer_instant(out, CATEGORY_PLUGIN, event_name(event), track, event->start, &args);
    return 0;
}

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

/* Writes only what is known of the function. */
static void put_function(const struct stack_frame *frame, struct json_out *json)
{
    if (frame->function)
        json_put_text(json, "function", frame->function);
    if (frame->file)
        json_put_text(json, "file", frame->file);
    if (frame->line > 0)
        json_put_u64(json, "line", frame->line);
}

/* Writes a frame of the stack below a plugin's line, as an object. */
static void put_frame(const struct stack_frame *frame, struct json_out *json)
{
    json_begin_object(json);
    if (!frame_is_python(frame))
        json_put_hex(json, "address", frame->address);
    put_function(frame, json);
    if (frame->module)
        json_put_text(json, "module", frame->module);
    if (frame->module && !frame_is_python(frame))
        json_put_hex(json, "offset", frame->offset);
    if (frame->inlined_count > 0) { /* calls that the compiler inlined into the frame's function, innermost first */
        json_key_array(json, "inlined");
        for (size_t i = 0; i < frame->inlined_count; i++) {
            json_begin_object(json);
            put_function(&frame->inlined[i], json);
            json_end(json);
        }
        json_end(json);
    }
    json_end(json);
}

static void put_line(const struct convert_line *line, struct json_out *json)
{
    json_begin_object(json);
    json_put_text_n(json, "text", line->text, line->length);
    if (line->frame_count > 0) {
        json_key_array(json, "stack");
        for (size_t i = 0; i < line->frame_count; i++)
            put_frame(&line->frames[i], json);
        json_end(json);
    }
    json_end(json);
}

static void put_plugin(const struct convert_plugin *plugin, struct json_out *json)
{
    json_begin_object(json);
    json_put_text(json, "name", plugin->name);
    json_put_u64(json, "pid", plugin->pid);
    json_put_u64(json, "calls", plugin->calls);
    json_put_u64(json, "time_ns", plugin->ns);
    json_key_array(json, "lines");
    for (size_t i = 0; i < plugin->line_count; i++)
        put_line(&plugin->lines[i], json);
    json_end(json);
    json_end(json);
}

void put_plugins(const struct convert_plugins *plugins, struct json_out *json)
{
    json_key_array(json, "plugins");
    for (size_t i = 0; i < plugins->count; i++)
        put_plugin(&plugins->items[i], json);
    json_end(json);
}
