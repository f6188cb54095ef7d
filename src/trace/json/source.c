/*
 * Reads a trace in JSON for a sink that writes a file. It is read twice: names of rows, ids of flows and metadata may
 * be anywhere in it, and the sink needs them first.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/log.h"
#include "common/map.h"
#include "common/buffer.h"
#include "trace/event.h"
#include "trace/fields_receiver.h"
#include "trace/json/rows.h"
#include "trace/json/reader.h"
#include "trace/sink.h"
#include "trace/tracks.h"

struct json_replay {
    struct sink *sink;
    struct json_rows rows;
    struct flow_ids flows;
    struct json_overlaps overlaps;
    struct pairs halves;          /* joins slices in two events */
    struct pairs ranges;          /* joins asynchronous ranges in two events, by id and category */
    int64_t end;                  /* end of the last event, ns */
    struct buffer clean;          /* in memory: the current text, if it had to be cleaned */
    struct buffer category;       /* in memory: the category of the current event, or a counter's name */
    uint64_t base;                /* ns of CLOCK_REALTIME that the events' times are relative to */
    int64_t start;                /* start of the first event if negative, as sinks need times from 0; else 0 */
    uint64_t left_out;            /* events that were left out */
    bool after_slice;             /* the last event was a slice, or a flow after one */
    struct row last;              /* row of that slice */
    char *unescaped;              /* name of the current event without escapes */
    struct counter_values values; /* values of the current counter */
    struct buffer texts;          /* in memory: names of these values */
};

/* Returns an event's time in ns of CLOCK_REALTIME, never before the base. */
static uint64_t time_of(const struct json_replay *replay, int64_t time)
{
    return replay->base + (uint64_t)(time > replay->start ? time - replay->start : 0);
}

/* Sets *CATEGORY. Returns NULL, or the text of a CATEGORY_OTHER, valid until the next call. */
static const char *find_category(struct json_replay *replay, struct json_text text, enum category *category)
{
    *category = category_find(text.at, text.length);
    if (*category != CATEGORY_OTHER)
        return NULL;
    replay->category.length = 0;
    buffer_bytes(&replay->category, text.at ? text.at : "", text.length);
    buffer_char(&replay->category, '\0');
    return replay->category.failure ? "" : replay->category.data;
}

static struct name name_of(struct json_replay *replay, const struct json_event *event)
{
    if (!event->name.at || !memchr(event->name.at, '\\', event->name.length))
        return name_passing(event->name.at ? event->name.at : "", event->name.length);
    free(replay->unescaped);
    replay->unescaped = json_unescaped((struct json_text){event->name.at - 1, event->name.length + 2});
    return name_passing(replay->unescaped ? replay->unescaped : "", replay->unescaped ? strlen(replay->unescaped) : 0);
}

static const struct args *args_of(const struct json_event *event, struct args *args)
{
    args->count = 0;
    if (event->args.length == 0 || event->args.at[1 + strspn(event->args.at + 1, " \t\r\n")] == '}')
        return NULL;
    struct arg *arg = args_add(args, ARG_OTHER, ARG_TYPE_MEMBERS);
    arg->text = event->args.at + 1;
    arg->length = event->args.length - 2;
    return args;
}

/* Sets a slice's category, device and stream by the names of its row, if they tell them. */
static void set_by_row(const struct json_replay *replay, struct slice *slice, struct args *args)
{
    char name[64];
    snprintf(name, sizeof(name), "%.*s", slice->name.length < sizeof(name) ? (int)slice->name.length : 63,
             slice->name.text);
    struct gpu_row row = json_rows_gpu(&replay->rows, slice->row, name);
    if (row.category == CATEGORY_OTHER)
        return;
    slice->category = row.category;
    slice->other_category = NULL;
    if (row.device < 0)
        return;
    args_u64(args, ARG_DEVICE, (uint64_t)row.device);
    args_u64(args, ARG_STREAM, (uint64_t)row.stream);
    slice->args = args;
}

static struct slice slice_of(struct json_replay *replay, const struct json_event *event, struct args *args)
{
    struct slice slice = {.name = name_of(replay, event),
                          .row = json_rows_tell(&replay->rows, event, replay->sink),
                          .start = time_of(replay, event->time),
                          .end = time_of(replay, event->time) + event->duration,
                          .args = args_of(event, args)};
    slice.other_category = find_category(replay, event->category, &slice.category);
    enum category named = category_by_name(slice.category, event->phase, slice.name.text, slice.name.length);
    if (named != slice.category) {
        slice.category = named;
        slice.other_category = NULL;
    }
    if (slice.category == CATEGORY_OTHER && (event->phase == 'X' || event->phase == 'B'))
        set_by_row(replay, &slice, args);
    return slice;
}

/* --- flows --- */

/* Whether a flow event can be written: it leads from a call, or from one operator to another. */
static bool is_flow(struct json_replay *replay, const struct json_event *event, enum category *category)
{
    *category = CATEGORY_OTHER;
    if (json_is(event->category, "ac2g") || json_is(event->category, "async_cpu_to_gpu") ||
        (json_is(event->category, "async") && json_is(event->name, "launch")))
        return true;
    find_category(replay, event->category, category);
    return *category == CATEGORY_FWDBWD;
}

/* Writes a flow event. Formats other than JSON bind a flow to the slice that was written before it. */
static int replay_flow_event(struct json_replay *replay, const struct json_event *event)
{
    struct flow flow = {
        .id = (uint32_t)json_id(event->id), .ends = event->phase != 's', .time = time_of(replay, event->time)};
    flow.row = json_overlaps_row(&replay->overlaps, json_row_of(&replay->rows, event), flow.time);
    bool placed = replay->after_slice && flow.row.pid == replay->last.pid && flow.row.tid == replay->last.tid;
    if (!is_flow(replay, event, &flow.category) || (!replay->sink->format->all_flows && !placed))
        replay->left_out++;
    else
        replay->sink->format->flow(replay->sink, &flow);
    return 0;
}

/* Returns the bind_id of a slice with a flow from a call to a GPU operation, else 0: Kineto also writes flows from
 * calls to calls. */
static uint32_t bind_id_of(struct json_replay *replay, const struct json_event *event)
{
    enum category category;
    uint64_t id = json_id(event->bind_id);
    if (event->flow_out == event->flow_in || id > UINT32_MAX || find_category(replay, event->category, &category) ||
        !category_in(category, CATEGORIES_API | CATEGORIES_GPU_OPS))
        return 0;
    return (uint32_t)id;
}

static void replay_flow(struct json_replay *replay, const struct json_event *event, const struct slice *slice)
{
    const struct sink_format *format = replay->sink->format;
    uint32_t bind_id = bind_id_of(replay, event);
    struct flow flow = {.row = slice->row, .time = slice->start};
    if (bind_id == 0) {
        replay->left_out += event->flow_out || event->flow_in;
        return;
    }
    for (uint32_t i = 0; event->flow_out && i < flow_ids_count(&replay->flows, bind_id); i++) {
        flow.id = flow_ids_tail(&replay->flows, bind_id, i);
        format->flow(replay->sink, &flow);
    }
    if (event->flow_out)
        return;
    flow.ends = true;
    flow.id = flow_ids_head(&replay->flows, bind_id);
    if (flow.id != 0)
        format->flow(replay->sink, &flow);
    replay->left_out += flow.id == 0;
}

/* --- slices and ranges in two events --- */

static int add_half(struct json_replay *replay, const struct json_event *event, struct json_text text)
{
    uint64_t id[] = {json_range_id(event), hash_bytes(event->category.at, event->category.length)};
    struct row row = json_row_of(&replay->rows, event);
    bool is_range = event->phase == 'b' || event->phase == 'e';
    struct pairs_event half = {
        .row = is_range ? hash_bytes(id, sizeof(id)) : hash_bytes(&row, sizeof(row)),
        .name = event->name.length > 0 ? hash_bytes(event->name.at, event->name.length) | 1 : 0,
        .time = event->time,
        .kind = event->phase == 'X'                          ? PAIRS_OPEN
                : event->phase == 'E' || event->phase == 'e' ? PAIRS_END
                                                             : PAIRS_BEGIN,
    };
    return pairs_add(is_range ? &replay->ranges : &replay->halves, half, text.at, text.length, is_range);
}

static void replay_range(struct json_replay *replay, const struct json_event *begin, const struct json_event *end,
                         bool open)
{
    struct args args;
    struct slice slice = slice_of(replay, begin, &args);
    if (open) {
        args.count = slice.args ? args.count : 0;
        args_add(&args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
        slice.args = &args;
    }
    struct async_slice async = {.category = slice.category,
                                .other_category = slice.other_category,
                                .name = slice.name,
                                .begin = slice.row,
                                .end_row = json_row_of(&replay->rows, end),
                                .start = slice.start,
                                .end = time_of(replay, end->time),
                                .id = json_range_id(end),
                                .instant = begin->phase == 'n',
                                .args = slice.args};
    replay->sink->format->async(replay->sink, &async);
}

static int pass_range(void *context, const char *begin, size_t size, const char *end, size_t end_size)
{
    struct json_replay *replay = context;
    struct json_event first = json_event_read((struct json_text){begin, size});
    struct json_event last = end ? json_event_read((struct json_text){end, end_size}) : first;
    if (!end)
        last.time = replay->end;
    replay_range(replay, &first, &last, !end);
    return 0;
}

static int pass_slice(void *context, const char *begin, size_t size, const char *end, size_t end_size)
{
    struct json_replay *replay = context;
    struct json_event first = json_event_read((struct json_text){begin, size}), last = {.time = replay->end};
    struct args args, ends;
    if (end)
        last = json_event_read((struct json_text){end, end_size});
    struct slice slice = slice_of(replay, &first, &args);
    slice.end = time_of(replay, last.time);
    if (args_of(&last, &ends))
        args.items[args.count++] = ends.items[0];
    if (!end)
        args_add(&args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    slice.args = args.count > 0 ? &args : NULL;
    replay->sink->format->slice(replay->sink, &slice);
    return replay->category.failure ? error_no_memory("an event") : 0;
}

/* --- counters --- */

/* Returns a counter's name with its id, as counters with one name and different ids are different counters. */
static struct name counter_name(struct json_replay *replay, const struct json_event *event, size_t *id_length)
{
    struct name name = name_of(replay, event);
    struct json_text id = json_is_string(event->id) ? json_inside(event->id) : event->id;
    *id_length = 0;
    if (id.length == 0)
        return name;
    replay->category.length = 0;
    buffer_bytes(&replay->category, name.text, name.length);
    buffer_text(&replay->category, COUNTER_ID_WORD);
    size_t length = replay->category.length;
    json_unescape(&replay->category, id);
    *id_length = replay->category.length - length;
    buffer_char(&replay->category, '\0');
    return replay->category.failure ? name : name_passing(replay->category.data, replay->category.length - 1);
}

static int replay_counter(struct json_replay *replay, const struct json_event *event)
{
    size_t id_length;
    struct name name = counter_name(replay, event, &id_length);
    struct counter counter = {.name = name,
                              .id_length = id_length,
                              .pid = json_row_number(&replay->rows, event->pid),
                              .time = time_of(replay, event->time)};
    if (json_counter_read(&counter, event, &replay->values, &replay->texts) < 0)
        return -1;
    replay->sink->format->counter(replay->sink, &counter);
    return 0;
}

/* --- events --- */

static int replay_slice(struct json_replay *replay, const struct json_event *event)
{
    struct args args;
    struct slice slice = slice_of(replay, event, &args);
    if (category_in(slice.category, CATEGORIES_GPU_OPS) &&
        json_overlaps_place(&replay->overlaps, &replay->rows, replay->sink, &slice) != 0)
        return -1;
    replay->sink->format->slice(replay->sink, &slice);
    replay_flow(replay, event, &slice);
    replay->last = slice.row;
    return 0;
}

static int write_event(void *context, struct json_text as_it_is)
{
    struct json_replay *replay = context;
    const struct sink_format *format = replay->sink->format;
    struct json_text text = json_clean(as_it_is, &replay->clean);
    if (replay->clean.failure)
        return error_no_memory("an event");
    struct json_event event = json_event_read(text);
    struct args args;
    struct slice slice;
    bool follows = replay->after_slice && (event.phase == 's' || event.phase == 'f');
    int result = 0;
    switch (event.phase) {
    case 'X':
        if (!event.is_open)
            result = replay_slice(replay, &event);
        else
            result = add_half(replay, &event, text);
        break;
    case 'B':
    case 'E':
    case 'b':
    case 'e': result = add_half(replay, &event, text); break;
    case 'n': replay_range(replay, &event, &event, false); break;
    case 'i':
    case 'I':
        slice = slice_of(replay, &event, &args);
        format->instant(replay->sink, &slice);
        break;
    case 'C': result = replay_counter(replay, &event); break;
    case 's':
    case 'f': result = replay_flow_event(replay, &event); break;
    case 'M': break;
    default: replay->left_out++; break;
    }
    if (event.time + (int64_t)event.duration > replay->end)
        replay->end = event.time + (int64_t)event.duration;
    replay->after_slice = (event.phase == 'X' && !event.is_open) || follows;
    return replay->category.failure ? error_no_memory("an event") : result;
}

static int note_event(void *context, struct json_text as_it_is)
{
    struct json_replay *replay = context;
    struct json_text text = as_it_is;
    if (memchr(text.at, '\\', text.length))
        text = json_clean(as_it_is, &replay->clean);
    if (replay->clean.failure)
        return error_no_memory("an event");
    if (!memmem(text.at, text.length, "\"M\"", 3) && !memmem(text.at, text.length, "\"bind_id\"", 9))
        return 0;
    struct json_event event = json_event_read(text);
    uint32_t bind_id = event.phase == 'X' ? bind_id_of(replay, &event) : 0;
    if (bind_id != 0)
        return flow_ids_note(&replay->flows, bind_id, event.flow_in);
    return event.phase == 'M' ? json_rows_take(&replay->rows, &event) : 0;
}

/* --- a file --- */

static int write_metadata(void *context, const char *key, struct json_text value)
{
    struct json_replay *replay = context;
    struct json_text clean = json_clean(value, &replay->clean);
    if (replay->clean.failure)
        return error_no_memory("the trace's metadata");
    if (strcmp(key, "baseTimeNanoseconds") == 0)
        replay->base = strtoull(value.at, NULL, 10);
    replay->sink->format->metadata(replay->sink, key, clean.at, clean.length);
    return 0;
}

static int both_passes(struct json_replay *replay, const char *path, unsigned workers)
{
    struct sink *sink = replay->sink;
    const struct json_texts first = {replay, note_event, write_metadata, .start = &replay->start};
    const struct json_texts second = {replay, write_event, .quiet = true};
    if (json_read_texts(path, &first, workers) != 0)
        return -1;
    if (replay->start < 0)
        warning("'%s' begins before 0: times are written %.3f µs later", path, -(double)replay->start / 1e3);
    sink->format->begin(sink, replay->base);
    flow_ids_number(&replay->flows);
    json_rows_write(&replay->rows, sink);
    if (json_read_texts(path, &second, workers) != 0)
        return -1;
    if (pairs_finish(&replay->halves, path) != 0 || pairs_finish(&replay->ranges, path) != 0)
        return -1;
    sink->format->finish(sink);
    if (replay->left_out > 0)
        warning("'%s': %" PRIu64 " event%s left out: flows that do not follow their slice, "
                "or of kinds that '%s' has no form for",
                path, replay->left_out, replay->left_out == 1 ? " is" : "s are", sink->format->name);
    return 0;
}

int json_read(const char *path, struct sink *sink, unsigned workers)
{
    struct json_replay replay = {.sink = sink};
    struct interner *strings;
    const struct fields_receiver *receiver = fields_sink_receiver(sink, &strings);
    if (receiver)
        return json_read_fields(path, strings, receiver, workers);
    buffer_init_memory(&replay.clean);
    buffer_init_memory(&replay.category);
    buffer_init_memory(&replay.texts);
    pairs_init(&replay.halves, pass_slice, &replay);
    pairs_init(&replay.ranges, pass_range, &replay);
    int result = both_passes(&replay, path, workers);
    json_overlaps_release(&replay.overlaps);
    pairs_release(&replay.halves);
    pairs_release(&replay.ranges);
    buffer_release(&replay.clean);
    buffer_release(&replay.category);
    buffer_release(&replay.texts);
    json_rows_release(&replay.rows);
    flow_ids_release(&replay.flows);
    array_release(&replay.values);
    free(replay.unescaped);
    return result;
}
