/*
 * The events of a trace handed out to all that look at them, the takers: to each of them in the file's order, to
 * several of them at once.
 *
 * The reader's thread puts events into packs. Whoever is free, a thread of ours or the reader who has no room for the
 * next pack, gives a taker the next pack that it has not had: the one of them that is furthest behind. A taker is never
 * given two packs at once, so it needs no locks for what is its own. There are few packs, so that memory does not grow.
 * A run of events is put into a pack as it came, and whoever is free next makes events of it.
 *
 * Threads are started with the first full pack, for a trace that is smaller needs none. Where there are no more
 * processors than reading needs, or so few takers that packs cost the reader more than giving, every event is given at
 * once.
 */
#ifndef GPUTRACE_ANALYSIS_HANDOUT_H
#define GPUTRACE_ANALYSIS_HANDOUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace_event.h"

#define HANDOUT_TAKERS 32             /* at most */
#define HANDOUT_FEW 4                 /* takers: fewer gain nothing by packs, as was measured */
#define HANDOUT_THREADS 3             /* at most: more would wait for the one taker that is slowest */
#define HANDOUT_OTHERS 2              /* who reads, and who parses for it: with fewer processors threads gain nothing */
#define HANDOUT_PACKS 8               /* that are being filled and taken */
#define HANDOUT_EVENTS EVENT_RUN_MOST /* of a pack: with fewer, threads are woken too often */
#define HANDOUT_RUNS 64               /* of a pack */

struct handout_taker {
    unsigned categories; /* EVENT_BIT() of those it takes; others may be among them */
    /* Takes events. The texts they refer to may be looked up, whatever the reader adds meanwhile. Gives 0, or -1: no
     * memory. */
    int (*take)(void *context, const struct trace_event *events, size_t count);
    void *context;
    const char *what; /* there was no memory for */
    uint64_t next;    /* set here: the pack that it gets next */
    bool busy;        /* set here: it is being given one */
};

struct handout {
    struct handout_taker takers[HANDOUT_TAKERS];
    unsigned taker_count;
    struct handout_list {
        unsigned char takers[HANDOUT_TAKERS];
        unsigned count;
    } of_category[EVENT_CATEGORY_COUNT];
    unsigned thread_count, started; /* no threads: none are wanted */
    pthread_t threads[HANDOUT_THREADS];
    struct handout_pack *packs;   /* number N is at N % HANDOUT_PACKS */
    struct handout_pack *filling; /* the reader's, number `filled`; NULL: events are given at once, from … */
    struct trace_event single;    /* … here; also keeps what is the reader's apart from what all threads change */
    pthread_mutex_t lock;         /* of what follows, and of the takers' progress */
    pthread_cond_t more, room;    /* a pack was filled; all have had one */
    uint64_t filled, done;        /* packs */
    uint64_t unpacking;           /* the first pack that nobody has begun to make events of */
    const char *failed;           /* what there was no memory for */
    bool stopping;
};

/* WORKERS: threads that there may be with the caller's; 0: as many as there are processors. */
void handout_init(struct handout *handout, unsigned workers);
/* What was not taken yet never is. */
void handout_release(struct handout *handout);

/* At least one, before the first event. The first added is the first to be given an event where there are no threads.
 */
void handout_add(struct handout *handout, const struct handout_taker *taker);

/* Where the next event may be put. */
struct trace_event *handout_place(struct handout *handout);

/* Gives EVENT to its takers, now or later. Gives 0, or -1 after error(): a taker, now or before, had no memory, and no
 * other event is to be given. */
int handout_event(struct handout *handout, const struct trace_event *event);

/* The same of all events of a run, EVENT_RUN_MOST at most. */
int handout_run(struct handout *handout, const struct event_run *run);

/* Waits until all takers have had all events. Gives 0, or -1 after error(). */
int handout_wait(struct handout *handout);

#endif
