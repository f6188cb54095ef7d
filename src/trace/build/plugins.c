#include "trace/build/plugins.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/spool_records.h"
#include "trace/build/capture_intervals.h"
#include "trace/build/piece_writer.h"
#include "trace/spool/agent_records.h"
#include "trace/spool/records.h"

void plugins_release(struct plugins *plugins)
{
    array_release(&plugins->items);
    file_vector_release(&plugins->slices);
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

static int index_plugin(struct plugins *plugins, const struct event *event)
{
    struct plugin *plugin = put(plugins, event->plugin.number);
    if (plugin)
        plugin->name = text_of(event);
    return plugin ? 0 : -1;
}

/* The latest one counts. */
static int index_plugin_time(struct plugins *plugins, const struct event *event)
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

static int index_event(struct plugins *plugins, const struct event *event)
{
    if (!put(plugins, event->plugin_event.plugin))
        return -1;
    if (event->plugin_event.what != SPOOL_PLUGIN_SLICE)
        return 0;
    struct plugin_slice *slice = file_vector_push(&plugins->slices);
    if (!slice)
        return error_no_memory("slices of plugins");
    *slice = (struct plugin_slice){.record = event->record,
                                   .start = event->start,
                                   .end = event->end,
                                   .plugin = event->plugin_event.plugin,
                                   .thread = event->thread};
    return 0;
}

static int index_line(struct plugins *plugins, const struct event *event)
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

int plugins_index(struct plugins *plugins, const struct event *event)
{
    switch (event->type) {
    case EVENT_PLUGIN: return index_plugin(plugins, event);
    case EVENT_PLUGIN_TIME: return index_plugin_time(plugins, event);
    case EVENT_PLUGIN_EVENT: return index_event(plugins, event);
    case EVENT_PLUGIN_LINE: return index_line(plugins, event);
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
    if (file_vector_sort(&plugins->slices, outer_first) != 0)
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

#define REST_WINDOWS ((size_t)1 << 19) /* are joined before pages are given back */

void plugin_intervals_release(struct plugin_intervals *capture_intervals)
{
    for (size_t i = 0; i < capture_intervals->threads.count; i++)
        file_vector_release(&capture_intervals->threads.items[i].capture_intervals);
    array_release(&capture_intervals->threads);
    map_release(&capture_intervals->by_thread);
}

int plugin_intervals_add(struct plugin_intervals *capture_intervals, uint32_t thread, uint64_t start, uint64_t end)
{
    uint64_t *index = map_put(&capture_intervals->by_thread, thread, NULL);
    if (!index || (*index == 0 && !array_push(&capture_intervals->threads)))
        return error_no_memory("windows of plugins");
    if (*index == 0) {
        *index = capture_intervals->threads.count;
        capture_intervals->threads.items[*index - 1].capture_intervals.memory.directory = capture_intervals->directory;
    }
    struct plugin_interval *window = file_vector_push(&capture_intervals->threads.items[*index - 1].capture_intervals);
    if (!window)
        return error_no_memory("windows of plugins");
    *window = (struct plugin_interval){start, end};
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct plugin_interval *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

/* Sorted, and those that touch are one. */
static int put_in_order(struct plugin_intervals_of *thread)
{
    struct plugin_interval *items = thread->capture_intervals.items;
    size_t kept = 0;
    if (file_vector_sort(&thread->capture_intervals, by_start) != 0)
        return error_no_memory("windows of plugins");
    for (size_t i = 1; i < thread->capture_intervals.count; i++) {
        if (items[i].start > items[kept].end)
            items[++kept] = items[i];
        else if (items[i].end > items[kept].end)
            items[kept].end = items[i].end;
        if (i % REST_WINDOWS == 0)
            file_vector_rest(&thread->capture_intervals);
    }
    thread->capture_intervals.count = kept + 1;
    return 0;
}

int plugin_intervals_close(struct plugin_intervals *capture_intervals)
{
    for (size_t i = 0; i < capture_intervals->threads.count; i++)
        if (put_in_order(&capture_intervals->threads.items[i]) != 0)
            return -1;
    return 0;
}

void plugin_intervals_rest(const struct plugin_intervals *capture_intervals)
{
    for (size_t i = 0; i < capture_intervals->threads.count; i++)
        file_vector_rest(&capture_intervals->threads.items[i].capture_intervals);
}

bool plugin_intervals_hold(const struct plugin_intervals *capture_intervals, uint32_t thread, uint64_t start,
                           uint64_t end)
{
    const uint64_t *index = map_get(&capture_intervals->by_thread, thread);
    if (!index || *index == 0)
        return false;
    const struct plugin_intervals_of *of = &capture_intervals->threads.items[*index - 1];
    size_t low = 0, high = of->capture_intervals.count; /* the first that begins after START */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of->capture_intervals.items[middle].start <= start)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && end <= of->capture_intervals.items[low - 1].end;
}

/*
 * What plugins added to the trace: slices and instants on a row of each, and counters.
 */

#define NAME_MAX_BYTES 4096

char *plugin_name(const struct process *process, uint32_t number)
{
    const struct plugin *plugin = plugins_get(process->plugins, number);
    char *text = NULL;
    int length;
    if (plugin && plugin->name.length > 0) {
        uint32_t bytes = plugin->name.length < NAME_MAX_BYTES ? plugin->name.length : NAME_MAX_BYTES;
        length = asprintf(&text, "%.*s", (int)bytes, plugin->name.text);
    } else {
        length = asprintf(&text, "%u", number); /* its record was lost */
    }
    if (length >= 0)
        return text;
    error_no_memory("names of plugins");
    return NULL;
}

static bool is_sound(const struct process *process, const struct event *event)
{
    if (!process_knows_span(process, event))
        return false;
    switch (event->plugin_event.what) {
    case SPOOL_PLUGIN_SLICE:
    case SPOOL_PLUGIN_INSTANT: return true;
    case SPOOL_PLUGIN_COUNTER: return isfinite(event->plugin_event.value); /* JSON has no word for others */
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
    bool row = event->plugin_event.what != SPOOL_PLUGIN_COUNTER;
    if (row && !process_thread(process, TRACK_PLUGIN, event->plugin_event.plugin))
        return -1;
    return plugins_index(process->plugins, event);
}

#define REST_SLICES ((size_t)1 << 18) /* are walked over before indexes give their pages back */

int resolve_plugins(struct process *process)
{
    if (plugins_close(process->plugins) != 0)
        return -1;
    for (size_t i = 0; i < process->plugins->slices.count; i++) {
        const struct plugin_slice *slice = &process->plugins->slices.items[i];
        struct track *track = tracks_get(&process->tracks, TRACK_PLUGIN, 0, 0, slice->plugin);
        if (track && lanes_collect_own(&track->lanes, slice->start, slice->end, slice->thread) != 0)
            return -1;
        if (i % REST_SLICES == 0)
            process_evict(process);
    }
    return 0;
}

static struct name event_name(const struct event *event)
{
    static const char none[] = "(no name)";
    uint32_t length = event->plugin_event.name_length;
    return length ? name_passing(event->text, length) : name_passing(none, sizeof(none) - 1);
}

static void describe(struct args *args, const struct event *event)
{
    uint32_t name = event->plugin_event.name_length;
    if (event->text_length > name)
        args_text(args, ARG_DETAIL, event->text + name, event->text_length - name);
    args_u64(args, ARG_THREAD, event->thread);
}

static void emit_slice(struct piece_writer *out, struct process *process, const struct plugin_slice *made)
{
    struct track *track = tracks_get(&process->tracks, TRACK_PLUGIN, 0, 0, made->plugin);
    struct own_walk walk;
    struct event event;
    struct args args = {0};
    if (!track)
        return;
    own_walk_at(&walk, made->record);
    own_decode(&event, &walk, made->thread);
    describe(&args, &event);
    struct slice slice = {.category = CATEGORY_PLUGIN,
                          .name = event_name(&event),
                          .row = track_row_own(track, made->start, made->end, made->thread),
                          .start = made->start,
                          .end = made->end,
                          .args = &args};
    out->sink.format->slice(&out->sink, &slice);
}

int write_plugin_slices(struct piece_writer *out, struct process *process)
{
    for (size_t i = 0; i < process->plugins->slices.count; i++) {
        emit_slice(out, process, &process->plugins->slices.items[i]);
        piece_writer_passed(out, process);
    }
    return 0;
}

static int emit_counter(struct piece_writer *out, const struct process *process, const struct event *event)
{
    struct name name = event_name(event);
    char *plugin = plugin_name(process, event->plugin_event.plugin), *text = NULL;
    uint32_t length = event->plugin_event.name_length < NAME_MAX_BYTES ? (uint32_t)name.length : NAME_MAX_BYTES;
    if (!plugin || asprintf(&text, "%s: %.*s", plugin, (int)length, name.text) < 0) {
        free(plugin);
        return error_no_memory("names of counters");
    }
    struct counter counter = {.name = name_passing(text, strlen(text)),
                              .pid = process->pid,
                              .time = event->start,
                              .real = true,
                              .value = event->plugin_event.value};
    out->sink.format->counter(&out->sink, &counter);
    free(plugin);
    free(text);
    return 0;
}

int write_plugin_event(struct piece_writer *out, struct process *process, const struct event *event)
{
    uint16_t what = event->plugin_event.what;
    if (what == SPOOL_PLUGIN_SLICE || !is_sound(process, event) ||
        !capture_intervals_hold(process->capture_intervals, event->start))
        return 0; /* slices come before, in their order */
    if (what == SPOOL_PLUGIN_COUNTER)
        return emit_counter(out, process, event);
    const struct track *track = tracks_get(&process->tracks, TRACK_PLUGIN, 0, 0, event->plugin_event.plugin);
    struct args args = {0};
    if (!track)
        return 0;
    describe(&args, event);
    struct slice instant = {.category = CATEGORY_PLUGIN,
                            .name = event_name(event),
                            .row = {track->pid, track->tids[0]},
                            .start = event->start,
                            .args = &args};
    out->sink.format->instant(&out->sink, &instant);
    return 0;
}
