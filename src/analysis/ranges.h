/*
 * Ranges of the program (NVTX, PyTorch's record_function): what the sections about them have in common. Gathered only
 * where one of them is wanted; there may be any number, so they are sorted in bounded memory, and looked at in walks
 * (struct range_walk).
 */
#ifndef GPUTRACE_ANALYSIS_RANGES_H
#define GPUTRACE_ANALYSIS_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/event_fields.h"
#include "analysis/gpu_ops.h"
#include "analysis/sorter.h"

/* One that was started and ended stands there twice when that was done on two threads. */
struct range {
    int64_t start, end;
    uint32_t name, domain; /* EVENT_NO_TEXT: none */
    uint32_t thread;       /* index in trace.threads */
    uint32_t number;       /* by its place in the file */
    bool started;          /* and ended, else it nests */
};

struct ranges {
    bool wanted;
    uint32_t count;
    struct sorter sorter; /* by thread, then start; outer ones come before what is in them */
    /* Those that were started, and not ended so far */
    ARRAY(struct range_start) starts;
    uint32_t unused;       /* index + 1 of the first free entry */
    struct map last_by_id; /* id -> index + 1 of the last */
};

struct range_start {
    struct range range; /* those whose end is not EVENT_NONE are free */
    uint32_t next;      /* index + 1 of the one that was started before with the same id; else of the next unused */
};

void ranges_init(struct ranges *ranges, struct sorter_room *room);
void ranges_release(struct ranges *ranges);

/* Each returns 0, or -1: no memory. THREAD is an index of the trace. For events 'X', 'b' and 'e' of ranges: */
int ranges_add(struct ranges *ranges, const struct event_fields *event, uint32_t thread);
/* After the last; what is open ends at END. */
int ranges_finish(struct ranges *ranges, int64_t end);

/*
 * A walk over ranges, one thread after another, each by time, and which of them are around a moment. What it holds are
 * those that are open there, however many others there are.
 *
 *     range_walk_begin(&walk, &trace->ranges, false);
 *     for each moment, by thread and time:
 *         while (range_walk_open(&walk, thread, time)) …;
 *         … range_walk_innermost(&walk, thread, time) …
 *     status = range_walk_end(&walk);
 */

/* The name of the row of GPU operations that no range is around. */
#define RANGE_OUTSIDE "(outside ranges)"

struct range_open {
    struct range range;
    uint32_t outer; /* index + 1 of the innermost that was open when it started and is around it as a whole; 0: none */
    /* Of range_rows.h */
    uint32_t node;
    int64_t covered; /* the time until which inner ranges took its own */
};

struct range_walk {
    struct sorter_walk walk;
    const struct range *next;      /* NULL: there is none */
    bool nesting;                  /* those that were started and ended are left out */
    ARRAY(struct range_open) open; /* by start, longer ones first; some have ended since */
    size_t crowded;                /* when there are so many, those that have ended are taken out */
    bool no_memory;
};

void range_walk_begin(struct range_walk *walk, const struct ranges *ranges, bool nesting);

/* Opens the next range, if it is of an earlier thread than THREAD, or starts on it by TIME. NULL: there is no such, or
 * no memory. Valid until the next call; it is the last of `open`. */
struct range_open *range_walk_open(struct range_walk *walk, uint32_t thread, int64_t time);

/* After that: the innermost range around TIME on THREAD, NULL: there is none. TIME never goes back on a thread. */
struct range_open *range_walk_innermost(struct range_walk *walk, uint32_t thread, int64_t time);

/* Returns 0, or -1: no memory, or after error(). */
int range_walk_end(struct range_walk *walk);

/* Calls EACH for all GPU operations, with a walk over RANGES that it may open up to the operation's call, then REST
 * (NULL: nothing), which may open all that are left, until one gives non-zero. Returns that, or 0, or -1: no memory, or
 * after error(). Several may go on at a time. */
int range_walk_ops(const struct ranges *ranges, bool nesting, const struct launched_ops *gpu_ops,
                   int (*each)(void *context, struct range_walk *walk, const struct launched_op *op),
                   int (*rest)(void *context, struct range_walk *walk), void *context);

#endif
