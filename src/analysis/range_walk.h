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
#ifndef GPUTRACE_ANALYSIS_RANGE_WALK_H
#define GPUTRACE_ANALYSIS_RANGE_WALK_H

#include "analysis/called_works.h"
#include "analysis/ranges.h"

/* The name of the row of GPU operations that no range is around. */
#define RANGE_OUTSIDE "(outside ranges)"

struct range_open {
    struct range range;
    uint32_t outer; /* index + 1 of the innermost that was open when it started and is around it as a whole; 0: none */
    /* Of range_forest.h */
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

/* Gives 0, or -1: no memory, or after error(). */
int range_walk_end(struct range_walk *walk);

/* Calls EACH for all works, with a walk over RANGES that it may open up to the work's call, then REST (NULL: nothing),
 * which may open all that are left, until one gives non-zero. Gives that, or 0, or -1: no memory, or after error().
 * Several may go on at a time. */
int range_walk_works(const struct ranges *ranges, bool nesting, const struct called_works *works,
                     int (*each)(void *context, struct range_walk *walk, const struct called_work *work),
                     int (*rest)(void *context, struct range_walk *walk), void *context);

#endif
