/*
 * How long something was busy: the union of intervals, so that what overlaps counts once.
 */
#ifndef GPUTRACE_ANALYSIS_BUSY_H
#define GPUTRACE_ANALYSIS_BUSY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"

struct busy {
    ARRAY(struct busy_interval) intervals; /* parted by gaps, unless they came out of order */
    bool disordered;
};

struct busy_interval {
    int64_t start, end;
};

/* Gives 0, or -1: no memory. Intervals that come by their start, and touch, are joined at once. */
int busy_add(struct busy *busy, int64_t start, int64_t end);

/* The length of the union, ns. */
int64_t busy_total(struct busy *busy);
void busy_release(struct busy *busy);

#endif
