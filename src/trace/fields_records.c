/*
 * The analysis's end of its sink: gives the receiver what is in the records, in the order of the trace.
 */
#include "trace/fields_records.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/array.h"
#include "common/buffer.h"
#include "common/log.h"
#include "common/map.h"
#include "common/text.h"
#include "trace/event_fields.h"
#include "trace/json/parse.h"
#include "trace/json/text.h"

void fields_put_record(struct buffer *buffer, enum record_kind kind, const void *data, size_t size)
{
    struct record record = {kind, (uint32_t)size};
    char *at = buffer_reserve(buffer, sizeof(record) + size);
    if (!at)
        return;
    memcpy(at, &record, sizeof(record));
    if (size > 0)
        memcpy(at + sizeof(record), data, size);
    buffer_advance(buffer, sizeof(record) + size);
}

/* As JSON would give it: valid UTF-8, up to its first NUL. */
static void put_text(struct buffer *buffer, const char *text, size_t length)
{
    struct buffer clean;
    buffer_init_memory(&clean);
    length = strnlen(text, length);
    for (size_t at = 0, size; at < length; at += size ? size : 1) {
        size = utf8_size(text + at, length - at);
        buffer_bytes(&clean, size ? text + at : UTF8_REPLACEMENT, size ? size : strlen(UTF8_REPLACEMENT));
    }
    fields_put_record(buffer, RECORD_TEXT, clean.data, clean.length);
    buffer->failure = buffer->failure ? buffer->failure : clean.failure;
    buffer_release(&clean);
}

void record_fail(struct sink *sink)
{
    sink->buffer->failure = sink->buffer->failure ? sink->buffer->failure : ENOMEM;
}

void record_texts_write(struct record_texts *texts, struct sink *sink)
{
    for (; texts->written < texts->texts.count; texts->written++) {
        const struct interned *text = interner_at(&texts->texts, texts->written);
        put_text(sink->buffer, text->text, text->length);
    }
}

uint32_t record_texts_put(struct record_texts *texts, struct sink *sink, const char *text, size_t length)
{
    uint32_t number = intern(&texts->texts, length ? text : "", length);
    if (number == INTERN_NO_MEMORY) {
        record_fail(sink);
        return EVENT_NO_TEXT;
    }
    record_texts_write(texts, sink);
    return number;
}

void fields_put_metadata(struct sink *sink, const char *key, const char *value, size_t size)
{
    struct buffer text;
    buffer_init_memory(&text);
    buffer_bytes(&text, key, strlen(key) + 1);
    buffer_bytes(&text, value, size);
    fields_put_record(sink->buffer, RECORD_METADATA, text.data, text.length);
    sink->buffer->failure = sink->buffer->failure ? sink->buffer->failure : text.failure;
    buffer_release(&text);
}

struct fields_sink {
    struct sink sink;
    struct buffer records; /* its buffer, which is drained to the receiver */
    const struct fields_receiver *receiver;
    struct parser parser;    /* of metadata; its strings are the trace's */
    ARRAY(uint32_t) numbers; /* of the piece's texts, in these */
    struct buffer rest;      /* a record that is not whole yet */
};

static int receive_one_by_one(const struct fields_receiver *receiver, const struct event_run *run)
{
    const char *at = run->bytes;
    struct event_fields own = event_nothing;
    int status = 0;
    for (size_t i = 0; i < run->count && status == 0; i++) {
        struct event_fields *event = fields_receiver_place(receiver, &own);
        at = event_run_take(at, run->numbers, event);
        status = receiver->event(receiver->context, event);
    }
    return status;
}

static int receive_run(struct fields_sink *sink, const struct record *record, const char *data)
{
    struct run_head head = {.record = *record};
    size_t size = sizeof(head) - sizeof(head.record);
    memcpy(&head.count, data, size);
    const struct event_run run = {
        .bytes = data + size,
        .size = record->size - size,
        .count = head.count,
        .categories = head.categories,
        .numbers = sink->numbers.items,
        .number_count = sink->numbers.count,
    };
    return sink->receiver->run ? sink->receiver->run(sink->receiver->context, &run)
                               : receive_one_by_one(sink->receiver, &run);
}

static int receive_metadata(struct fields_sink *sink, const char *data, size_t size)
{
    const char *value = data + strlen(data) + 1;
    cJSON *root;
    int status = 0;
    if (parser_json(&sink->parser, value, size - (size_t)(value - data), &root) == PARSE_DONE)
        status = sink->receiver->metadata(sink->receiver->context, data, root);
    cJSON_Delete(root);
    return status;
}

static int receive_record(struct fields_sink *sink, const struct record *record, const char *data)
{
    uint32_t *number;
    switch ((enum record_kind)record->kind) {
    case RECORD_PIECE: sink->numbers.count = 0; return 0;
    case RECORD_TEXT:
        number = array_push(&sink->numbers);
        if (!number || (*number = intern(sink->parser.strings, data, record->size)) == INTERN_NO_MEMORY)
            return error_no_memory("the trace's names");
        return 0;
    case RECORD_RUN: return receive_run(sink, record, data);
    case RECORD_METADATA: return receive_metadata(sink, data, record->size);
    }
    return 0;
}

/* Takes the whole records among the bytes, and sets *USED to theirs. */
static int receive_records(struct fields_sink *sink, const char *data, size_t size, size_t *used)
{
    struct record record;
    int status = 0;
    for (*used = 0; status == 0 && size - *used >= sizeof(record); *used += sizeof(record) + record.size) {
        memcpy(&record, data + *used, sizeof(record));
        if (size - *used - sizeof(record) < record.size)
            break;
        status = receive_record(sink, &record, data + *used + sizeof(record));
    }
    return status;
}

static int receive_bytes(struct fields_sink *sink, const char *data, size_t size)
{
    size_t used;
    bool had_rest = sink->rest.length > 0;
    if (had_rest) {
        buffer_bytes(&sink->rest, data, size);
        if (sink->rest.failure)
            return error_no_memory("the trace's events");
        data = sink->rest.data;
        size = sink->rest.length;
    }
    if (receive_records(sink, data, size, &used) < 0)
        return -1;
    if (had_rest) {
        memmove(sink->rest.data, data + used, size - used);
        sink->rest.length = size - used;
    } else if (used < size) {
        buffer_bytes(&sink->rest, data + used, size - used);
    }
    return sink->rest.failure ? error_no_memory("the trace's events") : 0;
}

/* Who failed has said why. */
static int drain(void *context, const char *data, size_t size)
{
    if (receive_bytes(context, data, size) == 0)
        return 0;
    errno = ECANCELED;
    return -1;
}

struct sink *fields_sink_new(struct interner *strings, const struct fields_receiver *receiver)
{
    struct fields_sink *made = calloc(1, sizeof(*made));
    if (!made) {
        error_no_memory("the trace's events");
        return NULL;
    }
    made->receiver = receiver;
    parser_init(&made->parser, strings);
    buffer_init(&made->records, drain, made);
    buffer_init_memory(&made->rest);
    sink_init(&made->sink, &fields_format, &made->records);
    return &made->sink;
}

void fields_sink_free(struct sink *sink)
{
    struct fields_sink *made = (struct fields_sink *)sink;
    if (!sink)
        return;
    sink_release(sink);
    array_release(&made->numbers);
    parser_release(&made->parser);
    buffer_release(&made->rest);
    buffer_release(&made->records);
    free(made);
}

const struct fields_receiver *fields_sink_receiver(const struct sink *sink, struct interner **strings)
{
    if (sink->format != &fields_format)
        return NULL;
    const struct fields_sink *made = (const struct fields_sink *)sink;
    *strings = made->parser.strings;
    return made->receiver;
}
