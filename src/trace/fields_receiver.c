/*
 * The analysis's end of its sink: gives the receiver the batches that pieces have become, in the order of the trace.
 */
#include "trace/fields_receiver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/log.h"
#include "common/map.h"
#include "trace/json/parse.h"
#include "trace/sink.h"

struct fields_sink {
    struct sink sink;
    struct buffer batches; /* its buffer, which is drained to the receiver: addresses of batches */
    const struct fields_receiver *receiver;
    struct parser parser;     /* of metadata; its strings are the trace's */
    ARRAY(uint32_t) numbers;  /* of the piece's texts, in these */
    struct event_batches own; /* where the receiver has none */
};

/* A key, NUL, a value of JSON. */
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

/* The texts and the metadata of a batch. */
static int receive_records(struct fields_sink *sink, const struct buffer *records)
{
    struct record record;
    int status = records->failure ? error_no_memory("the trace's events") : 0;
    for (size_t at = 0; status == 0 && at < records->length; at += record.size) {
        memcpy(&record, records->data + at, sizeof(record));
        at += sizeof(record);
        const char *data = records->data + at;
        uint32_t *number = record.kind == RECORD_TEXT ? array_push(&sink->numbers) : NULL;
        if (record.kind == RECORD_METADATA)
            status = receive_metadata(sink, data, record.size);
        else if (!number || (*number = intern(sink->parser.strings, data, record.size)) == INTERN_NO_MEMORY)
            status = error_no_memory("the trace's names");
    }
    return status;
}

static int receive_batch(struct fields_sink *sink, struct event_batch *batch)
{
    const struct fields_receiver *receiver = sink->receiver;
    if (batch->begins_piece)
        sink->numbers.count = 0;
    int status = receive_records(sink, &batch->records);
    size_t count = batch->count > 0 && status == 0 ? sink->numbers.count : 0;
    if (count > 0 && !array_at(&batch->numbers, count - 1))
        return error_no_memory("the trace's events");
    if (count > 0)
        memcpy(batch->numbers.items, sink->numbers.items, count * sizeof(*sink->numbers.items));
    if (count > 0 && receiver->batch)
        return receiver->batch(receiver->context, batch);
    if (count > 0)
        event_batch_translate(batch);
    size_t size;
    for (size_t at = 0; count > 0 && at < batch->used && status == 0; at += size) {
        struct event_fields *event = event_batch_at(batch, at);
        size = event_size(event); /* the receiver may change it */
        status = receiver->event(receiver->context, event);
    }
    event_batches_give_back(sink->sink.context, batch);
    return status;
}

/* Who failed has said why. */
static int drain(void *context, const char *data, size_t size)
{
    struct event_batch *batch;
    int status = 0;
    for (size_t at = 0; at < size && status == 0; at += sizeof(batch)) {
        memcpy(&batch, data + at, sizeof(batch));
        status = receive_batch(context, batch);
    }
    errno = ECANCELED;
    return status;
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
    event_batches_init(&made->own);
    buffer_init(&made->batches, drain, made);
    sink_init(&made->sink, &fields_format, &made->batches);
    made->sink.context = receiver->batch ? receiver->batches : &made->own;
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
    buffer_release(&made->batches);
    event_batches_release(&made->own);
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
