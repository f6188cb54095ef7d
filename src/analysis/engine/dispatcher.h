/*
 * Gives the events of a trace to consumers: to each in the file's order, to several at once.
 *
 * The reader's thread puts events into batches. A free thread gives the consumer that is furthest behind its next
 * batch; so does the reader when all batches are full. A consumer never gets two batches at once, so it needs no
 * locks for its own data. There are few batches, so memory does not grow. Batches that a source has filled are passed
 * on as they are; the next free thread gives their texts the numbers of the trace's strings.
 *
 * Threads are started with the first full batch, for a trace that is smaller needs none. Where there are no more
 * processors than reading needs, or so few consumers that batches cost the reader more than giving, every event is
 * given at once.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_DISPATCHER_H
#define GPUTRACE_ANALYSIS_ENGINE_DISPATCHER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/fields_receiver.h"

#define DISPATCHER_CONSUMERS 48 /* at most */
#define DISPATCHER_FEW 4        /* consumers: fewer gain nothing by batches, as was measured */
#define DISPATCHER_THREADS 3    /* at most: more would wait for the one consumer that is slowest */
#define DISPATCHER_OTHERS 2     /* who reads, and who parses for it: with fewer processors threads gain nothing */
#define DISPATCHER_BATCHES 8    /* that are being filled and taken */

struct dispatcher_consumer {
    unsigned categories; /* CATEGORY_BIT() of those it takes; others may be among them */
    /* Takes COUNT events, at least one; event_after() leads from one to the next. Their texts may be looked up while
     * the reader adds others. Returns 0, or -1 without memory. */
    int (*take)(void *context, const struct event_fields *event, size_t count);
    void *context;
    const char *what; /* there was no memory for */
    uint64_t next;    /* set here: the batch that it gets next */
    bool busy;        /* set here: it is being given one */
};

struct dispatcher {
    struct dispatcher_consumer consumers[DISPATCHER_CONSUMERS];
    unsigned consumer_count;
    struct dispatcher_list {
        unsigned char consumers[DISPATCHER_CONSUMERS];
        unsigned count;
    } of_category[CATEGORY_COUNT];
    unsigned thread_count, started; /* no threads: none are wanted */
    pthread_t threads[DISPATCHER_THREADS];
    struct event_batches pool;
    struct event_batch *filling; /* the reader's, the next to be passed on; NULL: events are given at once, from … */
    struct event_fields single;  /* … here; also keeps what is the reader's apart from what all threads change */
    pthread_mutex_t lock;        /* of what follows, and of the consumers' progress */
    pthread_cond_t more, space;  /* a batch was filled; all have had one */
    struct dispatcher_batch {
        struct event_batch *events;
        unsigned left;             /* consumers that have not had it */
        bool translated;           /* its texts have the numbers of the trace's strings */
    } batches[DISPATCHER_BATCHES]; /* number N is at N % DISPATCHER_BATCHES */
    uint64_t filled, done;         /* batches */
    uint64_t translating;          /* the first batch that nobody has begun to translate */
    const char *failed;            /* what there was no memory for */
    bool stopping;
};

/* WORKERS: threads that there may be with the caller's; 0: as many as there are processors. */
void dispatcher_init(struct dispatcher *dispatcher, unsigned workers);
/* What was not taken yet never is. */
void dispatcher_release(struct dispatcher *dispatcher);

/* At least one, before the first event. Without threads, the first added is given an event first. */
void dispatcher_add(struct dispatcher *dispatcher, const struct dispatcher_consumer *consumer);

/* Where the next event may be put. */
struct event_fields *dispatcher_place(struct dispatcher *dispatcher);

/* Gives EVENT to its consumers, now or later. Gives 0, or -1 after error(): a consumer, now or before, had no memory,
 * and no other event is to be given. */
int dispatcher_event(struct dispatcher *dispatcher, const struct event_fields *event);

/* The same of all events of BATCH, which is of the dispatcher's pool and becomes the dispatcher's. */
int dispatcher_batch(struct dispatcher *dispatcher, struct event_batch *batch);

/* Waits until all consumers have had all events. Gives 0, or -1 after error(). */
int dispatcher_wait(struct dispatcher *dispatcher);

#endif
