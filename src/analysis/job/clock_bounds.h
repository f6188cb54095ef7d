/*
 * The straight lines that keep to bounds from below and from above: a linear programme in two variables.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_CLOCK_BOUNDS_H
#define GPUTRACE_ANALYSIS_JOB_CLOCK_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"

/* The largest drift between two clocks: Linux corrects the frequency of each clock by at most 500 ppm. */
#define CLOCK_DRIFT_MOST 1e-3
/* CLOCK_MISTAKES is the share of bounds that may be wrong. If more contradict each other, the clocks do not drift
 * evenly, and the uncertainty grows. If a share of CLOCK_CONTRADICTING contradicts by CLOCK_CONTRADICTING_NS, no offset
 * is derived. */
#define CLOCK_MISTAKES 0.02
#define CLOCK_CONTRADICTING 0.25
#define CLOCK_CONTRADICTING_NS 1e6

/* One clock is ahead of another by START + DRIFT * t at time t. */
struct clock_line {
    double start, drift;
};

/* The lines that the bounds allow. */
struct clock_region {
    bool any;                  /* there are bounds from both sides */
    bool contradicting;        /* too many of them are wrong */
    int64_t first, last;       /* times of the bounds */
    struct clock_line line;    /* the best */
    double uncertainty;        /* ns that the truth may differ from it, from FIRST to LAST ... */
    double drift_uncertainty;  /* ... and by so much more for each ns beyond */
    uint64_t bounds, outliers; /* all, and those of them that contradict the others */
};

enum clock_side { CLOCK_LEAST, CLOCK_MOST };

/* All zero is empty. */
struct clock_bounds {
    ARRAY(struct clock_value {
        int64_t at;
        double ahead; /* at this time by at least, or at most, so much */
        enum clock_side side;
        bool left_out;
    })
    values;
    size_t counts[2]; /* by side */
};

void clock_bounds_release(struct clock_bounds *bounds);

/* Returns 0, or -1: no memory. */
int clock_bounds_add(struct clock_bounds *bounds, enum clock_side side, int64_t at, int64_t ahead);

/* Finds the region. If no line meets all bounds, the line with the least sum of violations is found, and the bounds
 * that it violates most are left out. The best line is WISHED, or the line of the region that is near to it; NULL: the
 * middle. Returns 0, or -1: no memory. */
int clock_bounds_solve(struct clock_bounds *bounds, const struct clock_line *wished, struct clock_region *region);

#endif
