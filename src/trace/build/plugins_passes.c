/*
 * What plugins added to the trace: slices and instants on a row of each, and counters.
 */
#include "trace/build/conversion.h"
#include "trace/build/emitter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "trace/spool/own.h"
#include "trace/spool/records.h"
#include "common/spool_records.h"

#define NAME_MAX_BYTES 4096

char *plugin_name(const struct process *process, uint32_t number)
{
    const struct plugin *plugin = plugins_get(&process->plugins, number);
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

int see_plugin_event(struct process *process, const struct event *event)
{
    if (!is_sound(process, event)) {
        process->losses.undecoded++;
        return 0;
    }
    if (!windows_hold(&process->windows, event->start))
        return 0;
    see_time(process, event->start, event->end);
    bool row = event->plugin_event.what != SPOOL_PLUGIN_COUNTER;
    if (row && !process_thread(process, TRACK_PLUGIN, event->plugin_event.plugin))
        return -1;
    return plugins_see(&process->plugins, event);
}

#define REST_SLICES ((size_t)1 << 18) /* are walked over before indexes give their pages back */

int match_plugins(struct process *process)
{
    if (plugins_close(&process->plugins) != 0)
        return -1;
    for (size_t i = 0; i < process->plugins.slices.count; i++) {
        const struct plugin_slice *slice = &process->plugins.slices.items[i];
        struct track *track = tracks_get(&process->tracks, TRACK_PLUGIN, 0, 0, slice->plugin);
        if (track && lanes_collect_own(&track->lanes, slice->start, slice->end, slice->thread) != 0)
            return -1;
        if (i % REST_SLICES == 0)
            process_rest(process);
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

static void emit_slice(struct emitter *emitter, struct process *process, const struct plugin_slice *made)
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
    emitter->writer.format->slice(&emitter->writer, &slice);
}

int emit_plugin_slices(struct emitter *emitter, struct process *process)
{
    for (size_t i = 0; i < process->plugins.slices.count; i++) {
        emit_slice(emitter, process, &process->plugins.slices.items[i]);
        emitter_passed(emitter, process);
    }
    return 0;
}

static int emit_counter(struct emitter *emitter, const struct process *process, const struct event *event)
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
    emitter->writer.format->counter(&emitter->writer, &counter);
    free(plugin);
    free(text);
    return 0;
}

int emit_plugin_event(struct emitter *emitter, struct process *process, const struct event *event)
{
    uint16_t what = event->plugin_event.what;
    if (what == SPOOL_PLUGIN_SLICE || !is_sound(process, event) || !windows_hold(&process->windows, event->start))
        return 0; /* slices come before, in their order */
    if (what == SPOOL_PLUGIN_COUNTER)
        return emit_counter(emitter, process, event);
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
    emitter->writer.format->instant(&emitter->writer, &instant);
    return 0;
}
