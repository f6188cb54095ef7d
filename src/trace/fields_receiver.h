/*
 * The receiver of a trace's events as fields (struct event_fields), and the sink that passes events to it from any
 * source.
 *
 * Threads that read a trace put the events into batches. A batch has consecutive events of one piece of a sink. A batch
 * has one owner at a time, who must return it to its pool.
 */
#ifndef GPUTRACE_TRACE_FIELDS_RECEIVER_H
#define GPUTRACE_TRACE_FIELDS_RECEIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/buffer.h"
#include "trace/event_fields.h"

struct cJSON;
struct interner;
struct sink;

/* The most events of a batch, and their bytes, which suffice for that many kernels and calls. */
#define EVENT_BATCH_MOST 4096u
#define EVENT_BATCH_BYTES (EVENT_BATCH_MOST * (size_t)192)

/* Records follow one another in `records` of a batch and hold the texts and metadata of the piece. Texts are numbered
 * in the order in which they are first used. */
enum record_kind {
    RECORD_TEXT,     /* bytes of valid UTF-8 */
    RECORD_METADATA, /* a key, NUL, a JSON value */
};

/* The head of a record. Records are not aligned. */
struct record {
    uint32_t kind, size; /* `size`: bytes after the head */
};

struct event_batch {
    size_t count;
    unsigned categories;     /* CATEGORY_BIT() of each category among the events */
    bool begins_piece;       /* the batch is the first of a piece: texts are numbered from 0 */
    struct buffer records;   /* in memory: records of metadata, and of texts that the piece uses first in this batch */
    ARRAY(uint32_t) numbers; /* of each text of the piece, its number in the trace's strings; empty once translated */
    struct event_batch *before, *after; /* neighbours in the pool's list of lent or free batches */
    size_t used;                        /* bytes in use; event_after() leads from an event to the next */
    _Alignas(struct event_fields) char bytes[];
};

static inline struct event_fields *event_batch_at(struct event_batch *batch, size_t at)
{
    return (struct event_fields *)(void *)(batch->bytes + at);
}

/* Returns where the next event may be written; there is space for any category. */
static inline struct event_fields *event_batch_place(struct event_batch *batch)
{
    return event_batch_at(batch, batch->used);
}

static inline bool event_batch_is_full(const struct event_batch *batch)
{
    return batch->count == EVENT_BATCH_MOST || batch->used + sizeof(struct event_fields) > EVENT_BATCH_BYTES;
}

/* Adds the event that was written to event_batch_place(). */
static inline void event_batch_add(struct event_batch *batch)
{
    const struct event_fields *event = event_batch_place(batch);
    batch->categories |= CATEGORY_BIT(event->category);
    batch->used += event_size(event);
    batch->count++;
}

/* A pool of batches. Several threads may use it. */
struct event_batches {
    pthread_mutex_t lock;
    struct event_batch *lent, *free;
    size_t free_count;
};

void event_batches_init(struct event_batches *batches);
/* Frees all batches, including those that were not returned. */
void event_batches_release(struct event_batches *batches);

/* Frees the batches that are not lent; for callers that expect few more events. */
void event_batches_trim(struct event_batches *batches);

/* Lends an empty batch. Returns NULL without memory. */
struct event_batch *event_batches_take(struct event_batches *batches);
void event_batches_give_back(struct event_batches *batches, struct event_batch *batch);

/* Replaces the numbers of the events' texts by those in the trace's strings. A second call has no effect. */
void event_batch_translate(struct event_batch *batch);

/* The functions that the analysis receives a trace with. One thread calls them. */
struct fields_receiver {
    void *context;
    /* Returns where the next event should be written, so that event() need not copy it. NULL: anywhere. */
    struct event_fields *(*place)(void *context);
    /* Receives each event, in the trace's order. EVENT is valid during the call and may be changed. Returns 0, or -1 to
     * stop. */
    int (*event)(void *context, struct event_fields *event);
    /* Receives BATCH, translates its texts, and returns it to `batches`. Returns 0, or -1 to stop. NULL: event() is
     * called for each event. */
    int (*batch)(void *context, struct event_batch *batch);
    struct event_batches *batches; /* the pool of the batches; NULL if batch() is NULL */
    /* Receives each other key of the trace's object, and its value, which is valid during the call. Returns 0, or -1 to
     * stop. */
    int (*metadata)(void *context, const char *key, const struct cJSON *value);
};

/* Returns where to write the next event: where the receiver wants it, or OWN. */
static inline struct event_fields *fields_receiver_place(const struct fields_receiver *receiver,
                                                         struct event_fields *own)
{
    return receiver->place ? receiver->place(receiver->context) : own;
}

/* Makes a sink that passes RECEIVER the fields of all events, equal to what the JSON reader finds in the same events.
 * Their texts are put into STRINGS. Several threads may write pieces, as with any sink. Returns NULL after error(). */
struct sink *fields_sink_new(struct interner *strings, const struct fields_receiver *receiver);
void fields_sink_free(struct sink *sink);

/* Returns the receiver of a sink of fields_sink_new(), and sets *STRINGS, for sources that have fields already; NULL
 * for other sinks. */
const struct fields_receiver *fields_sink_receiver(const struct sink *sink, struct interner **strings);

#endif
