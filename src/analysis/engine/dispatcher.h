/*
 * Passes the events of a trace to consumers. Each consumer receives them in the order of the file; several consumers
 * run at a time.
 *
 * The reader's thread puts events into batches. A free thread passes the next batch to the consumer that is furthest
 * behind; the reader does so, too, when all batches are full. A consumer never receives two batches at a time, so it
 * needs no locks for its own data. The number of batches is fixed, so memory does not grow. Batches that a source
 * filled are not copied; a free thread translates the numbers of their texts to those of the trace's strings.
 *
 * Threads are started with the first full batch, because smaller traces need none. If there are no more processors than
 * reading needs, or so few consumers that batches cost the reader more than calling them, every event is passed on at
 * once.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_DISPATCHER_H
#define GPUTRACE_ANALYSIS_ENGINE_DISPATCHER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/fields_receiver.h"

#define DISPATCHER_CONSUMERS 48 /* at most */
#define DISPATCHER_FEW 4        /* consumers: fewer gain nothing from batches, as measurements showed */
#define DISPATCHER_THREADS 3    /* at most: further threads would wait for the slowest consumer */
#define DISPATCHER_OTHERS 2     /* threads that read and parse: with no more processors, further threads gain nothing */
#define DISPATCHER_BATCHES 8    /* size of the ring */

struct dispatcher_consumer {
    unsigned categories; /* CATEGORY_BIT() of the categories that it needs; it may also receive other events */
    /* Reads COUNT events, at least one; event_after() returns the next one. It may look up their texts while the reader
     * adds texts. Returns 0, or -1: no memory. */
    int (*take)(void *context, const struct event_fields *event, size_t count);
    void *context;
    const char *what; /* for the error "no memory for WHAT" */
    uint64_t next;    /* set by the dispatcher: the number of its next batch */
    bool busy;        /* set by the dispatcher: take() is running */
};

struct dispatcher {
    struct dispatcher_consumer consumers[DISPATCHER_CONSUMERS];
    unsigned consumer_count;
    struct dispatcher_list {
        unsigned char consumers[DISPATCHER_CONSUMERS];
        unsigned count;
    } of_category[CATEGORY_COUNT];
    unsigned thread_count, started; /* thread_count 0: no threads are used */
    pthread_t threads[DISPATCHER_THREADS];
    struct event_batches pool;
    struct event_batch *filling; /* the reader fills it; NULL: events are passed on at once, from `single` */
    struct event_fields single;  /* also keeps the reader's fields off the cache lines that all threads change */
    pthread_mutex_t lock;        /* protects the fields below, and the consumers' progress */
    pthread_cond_t more, space;  /* a batch was added; a batch is done */
    struct dispatcher_batch {
        struct event_batch *events;
        unsigned left;             /* consumers that have not passed it */
        bool translated;           /* its texts have numbers of the trace's strings */
    } batches[DISPATCHER_BATCHES]; /* number N is at N % DISPATCHER_BATCHES */
    uint64_t filled, done;         /* numbers of batches that were added, and that all consumers passed */
    uint64_t translating;          /* number of the first batch that no thread has begun to translate */
    const char *failed;            /* `what` of a consumer without memory; NULL: none failed */
    bool stopping;
};

/* Uses at most WORKERS threads with the caller's; 0: as many as there are processors. */
void dispatcher_init(struct dispatcher *dispatcher, unsigned workers);
/* Drops events that consumers have not received, and ends the threads. */
void dispatcher_release(struct dispatcher *dispatcher);

/* Adds a consumer; at least one is added before the first event. Without threads, consumers receive an event in the
 * order in which they were added. */
void dispatcher_add(struct dispatcher *dispatcher, const struct dispatcher_consumer *consumer);

/* Returns where the caller may build the next event, to save a copy. */
struct event_fields *dispatcher_place(struct dispatcher *dispatcher);

/* Passes EVENT to the consumers of its category, now or later. Returns 0, or -1 after error() if a consumer had no
 * memory for this or an earlier event; then no more events may be passed. */
int dispatcher_event(struct dispatcher *dispatcher, const struct event_fields *event);

/* Passes all events of BATCH to their consumers. BATCH is of the dispatcher's pool; the dispatcher owns it from then
 * on. Returns as dispatcher_event(). */
int dispatcher_batch(struct dispatcher *dispatcher, struct event_batch *batch);

/* Waits until all consumers have received all events. Returns 0, or -1 after error(). */
int dispatcher_wait(struct dispatcher *dispatcher);

#endif
