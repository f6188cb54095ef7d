/*
 * The receiving end of the analysis's sink: passes batches to the receiver in the order of the trace. The pool lends
 * the batch that was returned last, so that few batches are in use.
 */
#include "trace/fields_receiver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cjson/cJSON.h>

#include "common/log.h"
#include "common/map.h"
#include "trace/json/parse.h"
#include "trace/sink.h"

/* The pool keeps at most this many free batches, and at most RECORD_BYTES_MOST of records in each: the usual piece has
 * no more. */
#define FREE_MOST 16
#define BATCH_SIZE (sizeof(struct event_batch) + EVENT_BATCH_BYTES)
#define RECORD_BYTES_MOST ((size_t)256 * 1024)

void event_batches_init(struct event_batches *batches)
{
    *batches = (struct event_batches){0};
    pthread_mutex_init(&batches->lock, NULL);
}

static void free_batch(struct event_batch *batch)
{
    buffer_release(&batch->records);
    array_release(&batch->numbers);
    munmap(batch, BATCH_SIZE);
}

static void free_list(struct event_batch *batch)
{
    while (batch) {
        struct event_batch *after = batch->after;
        free_batch(batch);
        batch = after;
    }
}

void event_batches_trim(struct event_batches *batches)
{
    pthread_mutex_lock(&batches->lock);
    free_list(batches->free);
    batches->free = NULL;
    batches->free_count = 0;
    pthread_mutex_unlock(&batches->lock);
}

void event_batches_release(struct event_batches *batches)
{
    free_list(batches->lent);
    free_list(batches->free);
    pthread_mutex_destroy(&batches->lock);
}

struct event_batch *event_batches_take(struct event_batches *batches)
{
    pthread_mutex_lock(&batches->lock);
    struct event_batch *batch = batches->free;
    if (batch) {
        batches->free = batch->after;
        batches->free_count--;
    }
    pthread_mutex_unlock(&batches->lock);
    if (!batch) {
        /* malloc() would keep the freed memory for the thread that made the batch. */
        batch = mmap(NULL, BATCH_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (batch == MAP_FAILED)
            return NULL;
        buffer_init_memory(&batch->records);
    }
    batch->count = batch->used = batch->categories = 0;
    batch->begins_piece = false;
    batch->numbers.count = batch->records.length = 0;
    if (batch->records.failure || batch->records.capacity > RECORD_BYTES_MOST)
        buffer_release(&batch->records);
    pthread_mutex_lock(&batches->lock);
    batch->before = NULL;
    batch->after = batches->lent;
    if (batch->after)
        batch->after->before = batch;
    batches->lent = batch;
    pthread_mutex_unlock(&batches->lock);
    return batch;
}

void event_batches_give_back(struct event_batches *batches, struct event_batch *batch)
{
    pthread_mutex_lock(&batches->lock);
    if (batch->before)
        batch->before->after = batch->after;
    else
        batches->lent = batch->after;
    if (batch->after)
        batch->after->before = batch->before;
    bool kept = batches->free_count < FREE_MOST;
    if (kept) {
        batch->after = batches->free;
        batches->free = batch;
        batches->free_count++;
    }
    pthread_mutex_unlock(&batches->lock);
    if (!kept)
        free_batch(batch);
}

void event_batch_translate(struct event_batch *batch)
{
    size_t size;
    for (size_t at = 0; at < batch->used && batch->numbers.count > 0; at += size) {
        struct event_fields *event = event_batch_at(batch, at);
        size = event_size(event);
        event_translate(event, batch->numbers.items);
    }
    batch->numbers.count = 0;
}

/* --- the sink --- */

struct fields_sink {
    struct sink sink;
    struct buffer batches; /* its buffer holds addresses of batches and is drained to the receiver */
    const struct fields_receiver *receiver;
    struct parser parser;     /* for metadata; its strings are the trace's */
    ARRAY(uint32_t) numbers;  /* of each text of the piece, its number in those strings */
    struct event_batches own; /* the pool if the receiver has none */
};

/* Interns the texts of a batch and passes on its metadata. Returns 0, or -1 after an error. */
static int receive_records(struct fields_sink *sink, const struct buffer *records)
{
    struct record record;
    int status = records->failure ? error_no_memory("the trace's events") : 0;
    for (size_t at = 0; status == 0 && at < records->length; at += record.size) {
        memcpy(&record, records->data + at, sizeof(record));
        at += sizeof(record);
        const char *data = records->data + at;
        uint32_t *number = record.kind == RECORD_TEXT ? array_push(&sink->numbers) : NULL;
        if (record.kind == RECORD_METADATA) {
            const char *value = data + strlen(data) + 1;
            cJSON *root;
            if (parser_json(&sink->parser, value, record.size - (size_t)(value - data), &root) == PARSE_DONE)
                status = sink->receiver->metadata(sink->receiver->context, data, root);
            cJSON_Delete(root);
        } else if (!number || (*number = intern(sink->parser.strings, data, record.size)) == INTERN_NO_MEMORY) {
            status = error_no_memory("the trace's names");
        }
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
        size = event_size(event); /* read first, as the receiver may change the event */
        status = receiver->event(receiver->context, event);
    }
    event_batches_give_back(sink->sink.context, batch);
    return status;
}

/* Passes on the batches. Its errors are reported, so errno is ECANCELED. */
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
