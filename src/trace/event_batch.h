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

#define EVENT_BATCH_MOST 4096u /* events */

struct event_batch {
    size_t count;
    unsigned categories;     /* CATEGORY_BIT() of those that are among its events */
    bool begins_piece;       /* texts are numbered from 0 again */
    struct buffer records;   /* in memory: texts that the piece has first here, and metadata (trace/piece_records.h) */
    ARRAY(uint32_t) numbers; /* in the trace's strings of the texts so far; empty: the events have these numbers */
    struct event_batch *before, *after;           /* of the pool's that are lent, or free */
    struct event_fields events[EVENT_BATCH_MOST]; /* those from `count` on are any events */
};

/* The batches that there are. Several threads may use a pool. */
struct event_batches {
    pthread_mutex_t lock;
    struct event_batch *lent, *free;
    size_t free_count;
};

void event_batches_init(struct event_batches *batches);
/* Frees all, also those that are not given back. */
void event_batches_release(struct event_batches *batches);

/* Returns an empty one, or NULL without memory. */
struct event_batch *event_batches_take(struct event_batches *batches);
void event_batches_give_back(struct event_batches *batches, struct event_batch *batch);

/* Gives the events' texts their numbers in the trace's strings. */
void event_batch_translate(struct event_batch *batch);

#endif
