/*
 * Events on their way from the threads that read a trace to the analysis: some of one piece of a sink, in the order of
 * the trace. A batch has one owner at a time, who gives it back to the pool that it is of.
 */
#ifndef GPUTRACE_TRACE_EVENT_BATCH_H
#define GPUTRACE_TRACE_EVENT_BATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/buffer.h"
#include "trace/event_fields.h"

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

#endif
