#include "trace/pftrace/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/json_out.h"
#include "common/log.h"
#include "common/map.h"
#include "trace/json/text.h"
#include "trace/pftrace/interned.h"
#include "trace/sink.h"

void pftrace_replay_init(struct pftrace_replay *replay, struct writer *writer)
{
    *replay = (struct pftrace_replay){.writer = writer};
    buffer_init_memory(&replay->members);
    buffer_init_memory(&replay->category);
    buffer_init_memory(&replay->clean);
}

void pftrace_replay_release(struct pftrace_replay *replay)
{
    buffer_release(&replay->members);
    buffer_release(&replay->category);
    buffer_release(&replay->clean);
    array_release(&replay->values);
}

static const char *const keys[ARG_KEY_COUNT] = {
#define KEY(name, text) [ARG_##name] = text,
    ARG_KEYS(KEY)
#undef KEY
};

/* The value of JSON that TEXT is; of length 0: it is none. What others wrote may be anything. */
static struct json_text checked_json(struct pftrace_replay *replay, const char *text, size_t length)
{
    size_t error_at;
    struct json_text value = {text, length};
    return json_check(text, length, &error_at) ? json_clean(value, &replay->clean) : (struct json_text){"", 0};
}

static void put_json(struct pftrace_replay *replay, struct json_out *json, const struct pftrace_arg *arg)
{
    struct json_text value = checked_json(replay, arg->text, arg->length);
    if (value.length > 0)
        json_raw(json, value.at, value.length);
    else
        json_string_n(json, arg->text, arg->length);
}

static void put_value(struct pftrace_replay *replay, struct json_out *json, const struct pftrace_arg *arg)
{
    char text[32];
    switch (arg->kind) {
    case PFTRACE_ARG_U64: json_u64(json, arg->u64); break;
    case PFTRACE_ARG_I64: json_i64(json, arg->i64); break;
    case PFTRACE_ARG_REAL: json_double(json, arg->real, -1); break;
    case PFTRACE_ARG_BOOL: json_bool(json, arg->u64 != 0); break;
    case PFTRACE_ARG_TEXT: json_string_n(json, arg->text, arg->length); break;
    case PFTRACE_ARG_JSON: put_json(replay, json, arg); break;
    case PFTRACE_ARG_HEX:
        snprintf(text, sizeof(text), "0x%" PRIx64, arg->u64);
        json_string(json, text);
        break;
    case PFTRACE_ARG_SIZE3:
        json_begin_array(json);
        for (int i = 0; i < 3; i++)
            json_i64(json, arg->size3[i]);
        json_end(json);
        break;
    }
}

static void put_all(struct pftrace_replay *replay, struct json_out *json, const struct pftrace_arg *args, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_key_text(json, args[i].name, args[i].name_length);
        put_value(replay, json, &args[i]);
    }
}

static void put_number(struct json_out *json, enum arg_key key, uint64_t number)
{
    json_key(json, keys[key]);
    json_u64(json, number);
}

/* All arguments as one, which writers take as it is. */
static void put_members(struct pftrace_replay *replay, const struct pftrace_event *event, struct args *args)
{
    struct json_out json;
    args->count = 0;
    if (event->arg_count == 0 && !event->shared && event->cbid == 0 && !event->has_correlation)
        return;
    replay->members.length = 0;
    json_out_init(&json, &replay->members, false);
    json_begin_object(&json);
    put_all(replay, &json, event->args, event->arg_count);
    if (event->shared)
        put_all(replay, &json, event->shared->args.items, event->shared->args.count);
    if (event->cbid != 0)
        put_number(&json, ARG_CBID, event->cbid - 1);
    if (event->has_correlation)
        put_number(&json, ARG_CORRELATION, event->correlation);
    json_end(&json);
    if (replay->members.failure)
        return;
    struct arg *arg = args_add(args, 0, ARG_TYPE_MEMBERS);
    arg->text = replay->members.data + 1;
    arg->length = replay->members.length - 2;
}

/* One of ours, or its text in JSON's escapes. */
static const char *find_category(struct pftrace_replay *replay, const char *text, enum category *category)
{
    if (slice_category_find(text, strlen(text), category))
        return NULL;
    replay->category.length = 0;
    json_escape(&replay->category, text, strlen(text));
    buffer_char(&replay->category, '\0');
    return replay->category.failure ? NULL : replay->category.data;
}

static struct slice slice_of(struct pftrace_replay *replay, const struct pftrace_event *event, struct args *args)
{
    struct slice slice = {.name = name_passing(event->name, strlen(event->name)),
                          .row = {event->pid, event->tid},
                          .start = replay->base + event->start,
                          .end = replay->base + event->end,
                          .args = args};
    slice.other_category = find_category(replay, event->category, &slice.category);
    put_members(replay, event, args);
    return slice;
}

static void replay_slice(struct pftrace_replay *replay, const struct pftrace_event *event)
{
    struct args args;
    struct slice slice = slice_of(replay, event, &args);
    const struct writer_format *format = replay->writer->format;
    format->slice(replay->writer, &slice);
    for (size_t i = 0; i < event->flow_count; i++) {
        struct flow flow = {.id = (uint32_t)event->flows[i], .row = slice.row, .time = replay->base + event->flow_time};
        if (event->is_head)
            format->flow_end(replay->writer, &flow);
        else
            format->flow_start(replay->writer, &flow);
    }
}

static void replay_instant(struct pftrace_replay *replay, const struct pftrace_event *event)
{
    struct args args;
    struct slice slice = slice_of(replay, event, &args);
    replay->writer->format->instant(replay->writer, &slice);
}

static void replay_async(struct pftrace_replay *replay, const struct pftrace_event *event)
{
    struct args args;
    struct slice slice = slice_of(replay, event, &args);
    struct async_slice async = {.category = slice.category,
                                .other_category = slice.other_category,
                                .name = slice.name,
                                .begin = slice.row,
                                .end_row = {event->end_pid, event->end_tid},
                                .start = slice.start,
                                .end = slice.end,
                                .id = event->id,
                                .args = &args};
    replay->writer->format->async(replay->writer, &async);
}

static void replay_counter(struct pftrace_replay *replay, const struct pftrace_event *event)
{
    struct counter_values *values = &replay->values;
    values->count = 0;
    for (size_t i = 0; i < event->arg_count; i++) {
        const struct pftrace_arg *arg = &event->args[i];
        struct counter_value *value = array_push(values);
        if (!value) {
            replay->members.failure = ENOMEM;
            return;
        }
        *value = (struct counter_value){.name = arg->name,
                                        .length = arg->name_length,
                                        .kind = arg->kind == PFTRACE_ARG_REAL  ? COUNTER_REAL
                                                : arg->kind == PFTRACE_ARG_U64 ? COUNTER_UNSIGNED
                                                                               : COUNTER_SIGNED,
                                        .u64 = arg->u64};
    }
    struct counter counter = {.name = name_passing(event->name, strlen(event->name)),
                              .pid = event->pid,
                              .time = replay->base + event->start,
                              .values = values->items,
                              .value_count = values->count};
    if (event->one_value && values->count > 0) {
        counter.value_count = 0;
        counter.real = values->items[0].kind == COUNTER_REAL;
        if (counter.real)
            counter.value = values->items[0].real;
        else
            counter.bytes = values->items[0].u64;
    }
    replay->writer->format->counter(replay->writer, &counter);
}

static void replay_row(struct pftrace_replay *replay, const struct pftrace_event *event)
{
    struct row_name name = {
        .row = {event->pid, event->tid}, .name = event->name, .label = event->text, .sort_index = event->sort_index};
    if (event->what == PFTRACE_THREAD) {
        replay->writer->format->thread(replay->writer, &name);
        return;
    }
    name.row.tid = event->pid;
    name.owner = event->owner;
    replay->writer->format->process(replay->writer, &name);
}

static void replay_metadata(struct pftrace_replay *replay, const struct pftrace_event *event)
{
    struct json_text value = checked_json(replay, event->text, event->length);
    if (value.length > 0)
        replay->writer->format->metadata(replay->writer, event->name, value.at, value.length);
    else
        replay->left_out++;
}

void pftrace_replay_event(struct pftrace_replay *replay, const struct pftrace_event *event)
{
    switch (event->what) {
    case PFTRACE_METADATA: replay_metadata(replay, event); break;
    case PFTRACE_PROCESS:
    case PFTRACE_THREAD: replay_row(replay, event); break;
    case PFTRACE_SLICE: replay_slice(replay, event); break;
    case PFTRACE_INSTANT: replay_instant(replay, event); break;
    case PFTRACE_ASYNC: replay_async(replay, event); break;
    case PFTRACE_COUNTER: replay_counter(replay, event); break;
    }
}

struct file_replay {
    struct pftrace_replay events;
    bool begun;
    uint64_t left_out; /* JSON has a place for metadata before the events alone */
};

static void replay_event(struct file_replay *replay, const struct pftrace_event *event)
{
    struct pftrace_replay *events = &replay->events;
    if (event->what == PFTRACE_METADATA && strcmp(event->name, "baseTimeNanoseconds") == 0)
        events->base = strtoull(event->text, NULL, 10);
    if (event->what == PFTRACE_METADATA && replay->begun) {
        replay->left_out++;
        return;
    }
    if (event->what != PFTRACE_METADATA && !replay->begun) {
        events->writer->format->begin(events->writer, events->base);
        replay->begun = true;
    }
    pftrace_replay_event(events, event);
}

static int replay_all(struct file_replay *replay, struct pftrace_reader *reader, const char *path)
{
    const struct pftrace_event *event;
    int more;
    while ((more = pftrace_next(reader, &event)) > 0)
        replay_event(replay, event);
    replay->left_out += pftrace_left_out(reader) + replay->events.left_out;
    if (more == 0 && replay->left_out > 0)
        warning("'%s': %" PRIu64 " packets are left out: gputrace does not write such packets", path, replay->left_out);
    if (more == 0 &&
        (replay->events.members.failure || replay->events.category.failure || replay->events.clean.failure))
        return error_no_memory("arguments of an event");
    return more;
}

int replay_pftrace(const char *path, struct writer *writer)
{
    struct interner strings = {0};
    struct file_replay replay = {0};
    struct pftrace_reader *reader = pftrace_open(path, &strings);
    if (!reader)
        return -1;
    pftrace_replay_init(&replay.events, writer);
    int result = replay_all(&replay, reader, path);
    if (result == 0 && !replay.begun)
        writer->format->begin(writer, replay.events.base);
    if (result == 0)
        writer->format->finish(writer);
    pftrace_close(reader);
    pftrace_replay_release(&replay.events);
    interner_release(&strings);
    return result;
}
