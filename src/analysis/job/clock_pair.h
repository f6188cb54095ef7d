/*
 * What the operations of two hosts, A and B, say about B's clock against A's: bounds from both sides, of which the
 * tightest are kept for each stretch of time, and the lines (offset and drift) that contradict none of them.
 * Times are ns relative to the host's own origin. B is "ahead" by its relative time less A's at the same moment.
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
 * evenly, and the uncertainty grows. If a share of CLOCK_CONTRADICTING contradicts by CLOCK_CONTRADICTING_NS, no offset
 * is derived. */
#define CLOCK_MISTAKES 0.02
#define CLOCK_CONTRADICTING 0.25
#define CLOCK_CONTRADICTING_NS 1e6

/* The times of a host in one operation, from those of its ranks. */
struct clock_entry {
    uint32_t host;
    bool sends, receives; /* a rank of it sends or receives (job_clocks.h) */
    bool all;             /* each rank does both */
    int64_t enter;        /* the last of the ranks that send */
    int64_t leave;        /* the first of the ranks that receive */
    int64_t last_enter;   /* the last of all ranks */
};

/* At time AT of A, B is ahead by at least or at most AHEAD; or all ranks of both hosts ended an operation then. */
enum clock_kind { CLOCK_LEAST, CLOCK_MOST, CLOCK_END, CLOCK_KINDS };
struct clock_bound {
    bool any;
    int64_t at, ahead;
    int64_t length; /* of the operation that ended, since the last entry: the shorter, the more its ends say */
};

/* The tightest bounds of a stretch of A's time, and the end of the shortest operation. */
struct clock_bucket {
    int64_t number; /* it begins at A's time NUMBER << SHIFT */
    struct clock_bound bounds[CLOCK_KINDS];
};

struct clock_pair {
    uint32_t a, b; /* hosts */
    uint64_t operations;
    ARRAY(struct clock_bucket) buckets; /* by number; stretches without an operation have none */
    unsigned shift;
};

/* The lines that the bounds allow: B is ahead by START + DRIFT * t at A's time t. */
struct clock_region {
    bool any;                  /* there are bounds from both sides */
    bool contradicting;        /* too many of them are wrong */
    int64_t first, last;       /* times of the bounds */
    double start, drift;       /* the best line */
    double uncertainty;        /* ns that the truth may differ from it, from FIRST to LAST ... */
    double drift_uncertainty;  /* ... and by so much more for each ns beyond */
    uint64_t bounds, outliers; /* all, and those of them that contradict the others */
};

/* Adds an operation of both hosts, in at most MOST buckets. Returns 0, or -1: no memory. */
int clock_pair_add(struct clock_pair *pair, const struct clock_entry *a, const struct clock_entry *b, size_t most);

/* Joins buckets until there are MOST. */
void clock_pair_shrink(struct clock_pair *pair, size_t most);

/* Returns 0, or -1: no memory. */
int clock_pair_solve(const struct clock_pair *pair, struct clock_region *region);

#endif
