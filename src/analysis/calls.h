/*
 * The API calls of a trace by correlation id, to find which call started some GPU work, or waited for it.
 *
 * Of calls of one correlation id and process the outermost counts, as the driver's call is within the runtime's: it is
 * the first to start, and the last of those to end.
 */
#ifndef GPUTRACE_ANALYSIS_CALLS_H
#define GPUTRACE_ANALYSIS_CALLS_H

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

#endif
