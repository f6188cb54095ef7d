/*
 * The API calls of a trace by correlation id, to find which call started some GPU work, or waited for it.
 *
 * Of calls of one correlation id and process the outermost counts, as the driver's call is within the runtime's: it is
 * the first to start, and the last of those to end.
 */
#ifndef GPUTRACE_ANALYSIS_GPU_OPS_H
#define GPUTRACE_ANALYSIS_GPU_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "analysis/sorter.h"

struct call {
    uint32_t correlation;
    uint32_t name;    /* of trace.strings */
    uint32_t thread;  /* index in trace.threads */
    uint32_t process; /* index in trace.processes */
    int64_t start, end;
};

struct calls {
    bool wanted; /* a section looks at them */
    struct sorter sorter;
};

void calls_init(struct calls *calls, struct sorter_room *room);
void calls_release(struct calls *calls);

/* Gives 0, or -1: no memory. */
int calls_add(struct calls *calls, const struct call *call);

/* After the last calls_add(): 0, or -1: no memory. */
int calls_ready(struct calls *calls);

/* A walk over the outermost calls, by correlation id, then process. Several may go on at a time. */
struct calls_walk {
    struct sorter_walk walk;
    uint32_t correlation, process; /* of the last */
    bool any;                      /* there was one */
};

void calls_walk_begin(struct calls_walk *walk, const struct calls *calls);
/* NULL: there is no other. Valid until the next call. */
const struct call *calls_next(struct calls_walk *walk);
/* Gives 0, or -1: no memory, or after error(). */
int calls_walk_end(struct calls_walk *walk);

/* Calls for correlation ids that come in rising order. */
struct calls_join {
    struct calls_walk walk;
    const struct call *next;            /* the walk's, of a later id */
    ARRAY(struct calls_join_call) same; /* of the id asked about last, one for each process */
    int64_t correlation;
    bool again; /* the call found last had been found before */
    bool no_memory;
    /* If set after calls_join_begin(): takes each call that was not found. Gives 0, or -1: no memory. */
    int (*missed)(void *context, const struct call *call);
    void *context;
};

struct calls_join_call {
    struct call call;
    bool found;
};

void calls_join_begin(struct calls_join *join, const struct calls *calls);
/* The call of CORRELATION; when several processes use that id, the last that started by TIME, else the first. NULL:
 * there is none. Valid until the next call. */
const struct call *calls_join_find(struct calls_join *join, int64_t correlation, int64_t time);
/* After the last: gives missed() all calls that are left. */
void calls_join_miss_rest(struct calls_join *join);
/* Gives 0, or -1: no memory, or after error(). */
int calls_join_end(struct calls_join *join);

/*
 * The GPU work of a trace, each with the API call that started it: joined by correlation id at the end, as calls may
 * come after their work. Every node of a graph is joined with the launch of the graph.
 */

struct trace_event;

struct work {
    int64_t start, duration;
    uint32_t correlation; /* where is_correlated */
    uint32_t name;        /* of trace.strings */
    uint32_t stream;      /* index in trace.streams */
    uint32_t order;       /* in the file */
    bool is_correlated;
    bool kernel; /* or a whole graph; else a copy or set */
};

struct works {
    bool wanted; /* a section looks at them */
    struct sorter sorter;
};

void works_init(struct works *works, struct sorter_room *room);
void works_release(struct works *works);

/* Gives 0, or -1: no memory. */
int works_add(struct works *works, const struct trace_event *event, uint32_t stream);

/* After the last works_add(): 0, or -1: no memory. */
int works_ready(struct works *works);

/* After that and calls_ready(): calls EACH for all works with the call that started it (NULL: none is known), by
 * correlation id, until it gives non-zero. Gives that, or 0, or -1: no memory, or after error(). Several may go on at a
 * time, in one thread or several. */
int works_each(const struct works *works, const struct calls *calls,
               int (*each)(void *context, const struct work *work, const struct call *call), void *context);

/*
 * The GPU work of a trace by the thread and the time of the call that started it: what belongs to a range, whose call
 * began in it on a thread of the range.
 */

#define CALLED_NO_THREAD UINT32_MAX

struct called_work {
    int64_t called;          /* when the call began */
    int64_t start, duration; /* of the work, as are: */
    uint32_t name;           /* of trace.strings */
    uint32_t stream;         /* index in trace.streams */
    uint32_t thread;         /* index in trace.threads; CALLED_NO_THREAD: no call is known. They come last. */
    bool kernel;             /* or a whole graph; else a copy or set */
};

struct called_works {
    bool wanted; /* a section looks at them */
    struct sorter sorter;
};

/* By thread, then call: for sorters of records that begin with a struct called_work. */
int called_works_order(const void *left, const void *right);

void called_works_init(struct called_works *called, struct sorter_room *room);
void called_works_release(struct called_works *called);

/* After calls_ready() and works_ready(): 0, or -1: no memory, or after error(). */
int called_works_gather(struct called_works *called, const struct works *works, const struct calls *calls);

#endif
