/*
 * Who takes the events of a trace as fields, and the sink that gives them to it, whatever the trace is read from.
 *
 * Events come in batches from the threads that read a trace: some of one piece of a sink, in the order of the trace. A
 * batch has one owner at a time, who gives it back to the pool that it is of.
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

/* Events of a batch at most, and their bytes: as many kernels and calls take no more. */
#define EVENT_BATCH_MOST 4096u
#define EVENT_BATCH_BYTES (EVENT_BATCH_MOST * (size_t)192)

/* What stands beside the events of a batch: records, one after another, that hold the texts and metadata of the piece.
 * Texts are numbered in the order in which they are first used. */
enum record_kind {
    RECORD_TEXT,     /* bytes of valid UTF-8 */
    RECORD_METADATA, /* a key, NUL, a JSON value */
};

/* The head of each record; nothing is aligned. */
struct record {
    uint32_t kind, size; /* bytes that follow */
};

struct event_batch {
    size_t count;
    unsigned categories;     /* CATEGORY_BIT() of those that are among its events */
    bool begins_piece;       /* texts are numbered from 0 again */
    struct buffer records;   /* in memory: records of texts that the piece has first here, and of metadata */
    ARRAY(uint32_t) numbers; /* in the trace's strings of the texts so far; empty: the events have these numbers */
    struct event_batch *before, *after; /* of the pool's that are lent, or free */
    size_t used;                        /* of the bytes: event_after() leads from an event to the next */
    _Alignas(struct event_fields) char bytes[];
};

static inline struct event_fields *event_batch_at(struct event_batch *batch, size_t at)
{
    return (struct event_fields *)(void *)(batch->bytes + at);
}

/* Where the next event may be put, whatever its category. */
static inline struct event_fields *event_batch_place(struct event_batch *batch)
{
    return event_batch_at(batch, batch->used);
}

static inline bool event_batch_is_full(const struct event_batch *batch)
{
    return batch->count == EVENT_BATCH_MOST || batch->used + sizeof(struct event_fields) > EVENT_BATCH_BYTES;
}

/* Adds the event that is in its place. */
static inline void event_batch_add(struct event_batch *batch)
{
    const struct event_fields *event = event_batch_place(batch);
    batch->categories |= CATEGORY_BIT(event->category);
    batch->used += event_size(event);
    batch->count++;
}

/* The batches that there are. Several threads may use a pool. */
struct event_batches {
    pthread_mutex_t lock;
    struct event_batch *lent, *free;
    size_t free_count;
};

void event_batches_init(struct event_batches *batches);
/* Frees all, also those that are not given back. */
void event_batches_release(struct event_batches *batches);

/* Frees those that are not lent, as there will be few events from now on. */
void event_batches_trim(struct event_batches *batches);

/* Returns an empty one, or NULL without memory. */
struct event_batch *event_batches_take(struct event_batches *batches);
void event_batches_give_back(struct event_batches *batches, struct event_batch *batch);

/* Gives the events' texts their numbers in the trace's strings. */
void event_batch_translate(struct event_batch *batch);

/* What the analysis takes of a trace: the functions are called on one thread. */
struct fields_receiver {
    void *context;
    /* Returns where the next event should be put, so that event() need not copy it. NULL: anywhere. */
    struct event_fields *(*place)(void *context);
    /* Takes each event, in the trace's order. EVENT may be changed, and is valid during the call. Returns 0, or -1 to
     * stop. */
    int (*event)(void *context, struct event_fields *event);
    /* Takes all events of BATCH, whose texts are to be translated, and gives it back to `batches`. NULL: event() is
     * called for each. */
    int (*batch)(void *context, struct event_batch *batch);
    struct event_batches *batches; /* the pool of these, where there is such a function */
    /* Takes each other key of the trace's object, and its value, which is valid during the call. Returns 0, or -1 to
     * stop. */
    int (*metadata)(void *context, const char *key, const struct cJSON *value);
};

/* Where to put the next event: where the receiver wants it, or in OWN. */
static inline struct event_fields *fields_receiver_place(const struct fields_receiver *receiver,
                                                         struct event_fields *own)
{
    return receiver->place ? receiver->place(receiver->context) : own;
}

/* A sink that gives RECEIVER the fields of all events, those that a reader of the events' JSON would find. Their texts
 * are put into STRINGS. Pieces may be written by several threads, as those of any sink. NULL after error(). */
struct sink *fields_sink_new(struct interner *strings, const struct fields_receiver *receiver);
void fields_sink_free(struct sink *sink);

/* For a source that has fields anyway: whom SINK, made by fields_sink_new(), gives events, and where texts are put.
 * NULL: SINK is another. */
const struct fields_receiver *fields_sink_receiver(const struct sink *sink, struct interner **strings);

#endif
