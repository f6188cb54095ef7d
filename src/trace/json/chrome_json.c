/*
 * Trace Event JSON. Everything of fixed text is a literal of known length; an event is put together in room reserved in
 * the sink once, and only names and texts of unknown length go through the sink's own functions.
 */
#include <string.h>

#include "common/json_out.h"
#include "common/sink.h"
#include "trace/json/chrome_args.h"
#include "trace/json/chrome_put.h"
#include "trace/sink.h"

static const struct literal heads[CATEGORY_COUNT] = {
#define HEAD(name, text) [CATEGORY_##name] = LITERAL("\"cat\":\"" text "\",\"name\":\""),
    CATEGORIES(HEAD)
#undef HEAD
};

static inline char *put_name(struct writer *writer, char *at, const struct name *name)
{
    if (name->json)
        return put_bytes(at, name->json, name->json_length); /* within the room of next_event() */
    claim(writer, at);
    json_escape(writer->sink, name->text, name->length);
    return sink_reserve(writer->sink, TAIL_ROOM);
}

/* The beginning of an event up to its name and the quote after it. */
static char *put_head(struct writer *writer, const char *phase, enum category category, const char *other,
                      const struct name *name)
{
    size_t other_length = other ? strlen(other) : 0;
    char *at = next_event(writer, HEAD_ROOM + TAIL_ROOM + other_length + (name->json ? name->json_length : 0));
    if (!at)
        return NULL;
    at = put_bytes(at, phase, 10); /* {"ph":"X", */
    if (other) {
        at = PUT(at, "\"cat\":\"");
        at = put_bytes(at, other, other_length);
        at = PUT(at, "\",\"name\":\"");
    } else {
        at = put_literal(at, &heads[category]);
    }
    at = put_name(writer, at, name);
    if (at)
        *at++ = '"';
    return at;
}

static void write_metadata(struct writer *writer, const char *key, const char *value, size_t size)
{
    sink_text(writer->sink, writer->any ? ",\n\"" : "{\n\"");
    json_escape(writer->sink, key, strlen(key));
    sink_text(writer->sink, "\":");
    sink_bytes(writer->sink, value, size);
    writer->any = true;
}

static void write_begin(struct writer *writer, uint64_t base)
{
    sink_text(writer->sink, writer->any ? ",\n\"traceEvents\":[" : "{\n\"traceEvents\":[");
    writer->any = false;
    writer->base = base;
}

/* One of the events that give names and order: {"ph":"M","name":NAME,"pid":…,"tid":…,"args":{KEY:VALUE}} */
static void write_naming(struct writer *writer, struct row row, const char *name_and_key, const char *text,
                         int64_t number)
{
    char *at = next_event(writer, HEAD_ROOM + TAIL_ROOM);
    if (!at)
        return;
    const char *key = name_and_key + strlen(name_and_key) + 1;
    at = PUT(at, "{\"ph\":\"M\",\"name\":\"");
    at = put_bytes(at, name_and_key, strlen(name_and_key));
    *at++ = '"';
    at = put_row(at, row);
    at = PUT(at, ",\"ts\":0.000,\"args\":{\"");
    at = put_bytes(at, key, strlen(key));
    at = PUT(at, "\":");
    claim(writer, at);
    if (text)
        chrome_text(writer->sink, text, strlen(text));
    else
        sink_i64(writer->sink, number);
    sink_bytes(writer->sink, "}}", 2);
}

static void write_process(struct writer *writer, const struct row_name *process)
{
    write_naming(writer, process->row, "process_name\0name", process->name, 0);
    if (process->label)
        write_naming(writer, process->row, "process_labels\0labels", process->label, 0);
    write_naming(writer, process->row, "process_sort_index\0sort_index", NULL, process->sort_index);
}

static void write_thread(struct writer *writer, const struct row_name *thread)
{
    write_naming(writer, thread->row, "thread_name\0name", thread->name, 0);
    write_naming(writer, thread->row, "thread_sort_index\0sort_index", NULL, thread->sort_index);
}

static void write_slice(struct writer *writer, const struct slice *slice)
{
    writer->events++;
    char *at = put_head(writer, "{\"ph\":\"X\",", slice->category, slice->other_category, &slice->name);
    if (!at)
        return;
    at = put_row(at, slice->row);
    at = put_time(writer, at, slice->start);
    at = PUT(at, ",\"dur\":");
    at = number_us(at, slice->end - slice->start);
    chrome_end_event(writer, at, slice->args);
}

static void write_instant(struct writer *writer, const struct slice *instant)
{
    writer->events++;
    char *at = put_head(writer, "{\"ph\":\"i\",", instant->category, instant->other_category, &instant->name);
    if (!at)
        return;
    at = put_row(at, instant->row);
    at = put_time(writer, at, instant->start);
    at = PUT(at, ",\"s\":\"t\"");
    chrome_end_event(writer, at, instant->args);
}

static void write_async(struct writer *writer, const struct async_slice *slice)
{
    writer->events++;
    char *at = put_head(writer, "{\"ph\":\"b\",", slice->category, slice->other_category, &slice->name);
    if (!at)
        return;
    at = PUT(at, ",\"id\":");
    at = number_u64(at, slice->id);
    at = put_row(at, slice->begin);
    at = put_time(writer, at, slice->start);
    chrome_end_event(writer, at, slice->args);
    at = put_head(writer, "{\"ph\":\"e\",", slice->category, slice->other_category, &slice->name);
    if (!at)
        return;
    at = PUT(at, ",\"id\":");
    at = number_u64(at, slice->id);
    at = put_row(at, slice->end_row);
    at = put_time(writer, at, slice->end);
    chrome_end_event(writer, at, NULL);
}

static void put_counter_value(struct sink *sink, const struct counter_value *value)
{
    chrome_text(sink, value->name, value->length);
    sink_char(sink, ':');
    switch (value->kind) {
    case COUNTER_UNSIGNED: sink_u64(sink, value->u64); break;
    case COUNTER_SIGNED: sink_i64(sink, value->i64); break;
    case COUNTER_REAL: chrome_real(sink, value->real); break;
    }
}

static void put_counter_values(struct sink *sink, const struct counter *counter)
{
    sink_text(sink, ",\"args\":{");
    for (size_t i = 0; i < counter->value_count; i++) {
        if (i > 0)
            sink_char(sink, ',');
        put_counter_value(sink, &counter->values[i]);
    }
    sink_bytes(sink, "}}", 2);
}

static void write_counter(struct writer *writer, const struct counter *counter)
{
    writer->events++;
    size_t name_room = counter->name.json ? counter->name.json_length : 0;
    char *at = next_event(writer, HEAD_ROOM + TAIL_ROOM + name_room);
    if (!at)
        return;
    at = PUT(at, "{\"ph\":\"C\",\"name\":\"");
    at = put_name(writer, at, &counter->name);
    if (!at)
        return;
    at = PUT(at, "\",\"pid\":");
    at = number_u64(at, counter->pid);
    at = put_time(writer, at, counter->time);
    if (counter->value_count > 0) {
        claim(writer, at);
        put_counter_values(writer->sink, counter);
        return;
    }
    at = counter->real ? PUT(at, ",\"args\":{\"value\":") : PUT(at, ",\"args\":{\"bytes\":");
    claim(writer, at);
    if (counter->real)
        chrome_real(writer->sink, counter->value);
    else
        sink_u64(writer->sink, counter->bytes);
    sink_bytes(writer->sink, "}}", 2);
}

static void write_arrow(struct writer *writer, const struct arrow *arrow, const char *phase)
{
    char *at = next_event(writer, HEAD_ROOM + TAIL_ROOM);
    if (!at)
        return;
    at = put_bytes(at, phase, 10);
    at = PUT(at, "\"id\":");
    at = number_u64(at, arrow->id);
    at = put_row(at, arrow->row);
    at = put_time(writer, at, arrow->time);
    at = PUT(at, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"");
    if (phase[7] == 'f')
        at = PUT(at, ",\"bp\":\"e\"");
    *at++ = '}';
    claim(writer, at);
}

static void write_arrow_start(struct writer *writer, const struct arrow *arrow)
{
    write_arrow(writer, arrow, "{\"ph\":\"s\",");
}

static void write_arrow_end(struct writer *writer, const struct arrow *arrow)
{
    write_arrow(writer, arrow, "{\"ph\":\"f\",");
}

static void write_finish(struct writer *writer)
{
    sink_text(writer->sink, "\n]}\n");
}

const struct writer_format chrome_json = {
    .name = "chrome_json",
    .piece_scale = 1,
    .metadata = write_metadata,
    .begin = write_begin,
    .process = write_process,
    .thread = write_thread,
    .slice = write_slice,
    .instant = write_instant,
    .async = write_async,
    .counter = write_counter,
    .arrow_start = write_arrow_start,
    .arrow_end = write_arrow_end,
    .finish = write_finish,
};
