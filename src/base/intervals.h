/*
 * Intervals, and which of them hold a point: found in the time that it takes to name them, however many others there
 * are and however they overlap.
 *
 *     intervals_add() … intervals_ready(), then intervals_each() as often as wanted
 *
 * Questions in the order of their points touch what lies about there, so that large ones may lie in a file.
 */
#ifndef GPUTRACE_BASE_INTERVALS_H
#define GPUTRACE_BASE_INTERVALS_H

#include <stdint.h>

#include "base/big_array.h"

struct interval {
    int64_t start, end; /* both belong to it */
    int64_t latest;     /* end of those in its part of the items, which is a tree */
    uint32_t what;
};

struct intervals {
    BIG_ARRAY(struct interval) items;
};

/* All zero is empty: `struct intervals i = {0}`; items.memory.directory may be set. */
void intervals_release(struct intervals *intervals);

/* WHAT is the caller's number of it. Gives 0, or -1: no memory. */
int intervals_add(struct intervals *intervals, int64_t start, int64_t end, uint32_t what);

/* After the last one, and before the first question. Gives 0, or -1: no memory. */
int intervals_ready(struct intervals *intervals);

/* Calls EACH for every interval that holds POINT, in order of their start, longer ones first, until it gives non-zero;
 * gives that, else 0. */
int intervals_each(const struct intervals *intervals, int64_t point, int (*each)(void *context, uint32_t what),
                   void *context);

#endif
