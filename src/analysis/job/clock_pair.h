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

#include "analysis/job/clock_bounds.h"

/* The times of a host in one operation, from those of its ranks. */
struct clock_entry {
    uint32_t host;
    bool sends, receives; /* a rank of it sends or receives (job_clocks.h) */
    bool all;             /* each rank does both */
    int64_t enter;        /* the last of the ranks that send */
    int64_t leave;        /* the first of the ranks that receive */
    int64_t last_enter;   /* the last of all ranks */
};

/* At this time of A, B is ahead by this. */
struct clock_bound {
    int64_t at, ahead;
};

/* What is kept of a stretch of A's time: the tightest bounds from below and from above, CLOCK_LEAST and CLOCK_MOST; and
 * the end of an operation of ALL on both hosts. */
enum { CLOCK_END = CLOCK_MOST + 1, CLOCK_BOUNDS };
struct clock_bucket {
    struct clock_bound bounds[CLOCK_BOUNDS];
    bool any[CLOCK_BOUNDS];
    int64_t length; /* of the operation that ended, since the last entry: the shorter, the more its ends say */
};

struct clock_pair {
    uint32_t a, b; /* hosts */
    uint64_t operations;
    struct clock_bucket *buckets; /* of 2^SHIFT ns each */
    size_t count, capacity;
    int64_t begin; /* the first bucket begins at A's time BEGIN * 2^SHIFT */
    unsigned shift;
};

/* A and B are set, all else is zero. */
void clock_pair_release(struct clock_pair *pair);

/* Adds an operation of both hosts, in at most MOST buckets. Returns 0, or -1: no memory. */
int clock_pair_add(struct clock_pair *pair, const struct clock_entry *a, const struct clock_entry *b, size_t most);

/* Joins buckets until there are MOST. */
void clock_pair_shrink(struct clock_pair *pair, size_t most);

/* Returns 0, or -1: no memory. */
int clock_pair_solve(const struct clock_pair *pair, struct clock_region *region);

#endif
