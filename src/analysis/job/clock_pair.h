/*
 * Bounds host B's clock against host A's by their common operations. For each stretch of time, the tightest bounds from
 * both sides are kept. A line (offset and drift) is possible if it contradicts none of them. Times are ns relative to
 * the origin of their host. B is "ahead" by its relative time less A's at the same moment.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_CLOCK_PAIR_H
#define GPUTRACE_ANALYSIS_JOB_CLOCK_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"

/* The largest drift between two clocks: Linux corrects the frequency of each clock by at most 500 ppm. */
#define CLOCK_DRIFT_MOST 1e-3
/* CLOCK_MISTAKES is the share of bounds that may be wrong. If more contradict each other, the clocks do not drift
 * evenly, and the uncertainty grows. No offset is derived if a share of CLOCK_CONTRADICTING contradicts the others, the
 * widest contradiction by more than 2 * CLOCK_CONTRADICTING_NS. */
#define CLOCK_MISTAKES 0.02
#define CLOCK_CONTRADICTING 0.25
#define CLOCK_CONTRADICTING_NS 1e6

/* The times of a host in one operation, of the host's ranks that took part. */
struct clock_entry {
    uint32_t host;
    bool sends, receives; /* one of its ranks sends or receives (job_clocks.h) */
    bool all;             /* each of its ranks sends and receives */
    int64_t enter;        /* when the last rank that sends entered */
    int64_t leave;        /* when the first rank that receives left */
    int64_t last_enter;   /* when the last rank entered */
};

/* At A's time AT, B is ahead by at least (LEAST) or at most (MOST) AHEAD. END: both hosts left an operation then. */
enum clock_kind { CLOCK_LEAST, CLOCK_MOST, CLOCK_END, CLOCK_KINDS };
struct clock_bound {
    bool any;
    int64_t at, ahead;
    int64_t length; /* END: from the last entry to the end; the shorter, the more exact */
};

/* The tightest bounds in a stretch of A's time, and the end of its shortest operation. */
struct clock_bucket {
    int64_t number; /* the stretch begins at A's time NUMBER << SHIFT */
    struct clock_bound bounds[CLOCK_KINDS];
};

struct clock_pair {
    uint32_t a, b; /* hosts */
    uint64_t operations;
    ARRAY(struct clock_bucket) buckets; /* sorted by number; stretches without an operation have no bucket */
    unsigned shift;
};

/* The possible lines: B is ahead by START + DRIFT * t at A's time t. */
struct clock_region {
    bool any;                  /* there are bounds from both sides, so that the rest is set */
    bool contradicting;        /* too many bounds are wrong; the line is not set */
    int64_t first, last;       /* times of the first and the last bound */
    double start, drift;       /* the best line */
    double uncertainty;        /* largest error of the best line from FIRST to LAST, ns */
    double drift_uncertainty;  /* growth of the error for each ns before FIRST or after LAST */
    uint64_t bounds, outliers; /* number of bounds, and of those that contradict the others */
};

/* Adds an operation of both hosts, and joins buckets if there would be more than MOST. Returns 0, or -1: no memory. */
int clock_pair_add(struct clock_pair *pair, const struct clock_entry *a, const struct clock_entry *b, size_t most);

/* Joins neighbouring buckets until there are at most MOST, and frees the memory of the others. */
void clock_pair_shrink(struct clock_pair *pair, size_t most);

/* Sets REGION from the bounds of PAIR. Returns 0, or -1: no memory. */
int clock_pair_solve(const struct clock_pair *pair, struct clock_region *region);

#endif
