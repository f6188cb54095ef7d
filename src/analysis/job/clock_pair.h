/*
 * What the operations of two hosts, A and B, say about B's clock against A's: bounds from both sides, of which the
 * tightest are kept for each stretch of time, and the lines (offset and drift) that contradict none of them.
 * Times are ns relative to the host's own origin; "ahead" is B's relative time less A's at the same moment.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_CLOCK_PAIR_H
#define GPUTRACE_ANALYSIS_JOB_CLOCK_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_PAIRS_BYTES ((size_t)64 << 20)  /* of all pairs' buckets */
#define CLOCK_PAIR_BUCKETS ((size_t)256)      /* of a pair at most ... */
#define CLOCK_PAIR_BUCKETS_LEAST ((size_t)16) /* ... and where there are many pairs */
/* Two clocks drift apart by no more: Linux limits corrections of a clock's frequency to 500 ppm, quartz to 100. */
#define CLOCK_DRIFT_MOST 1e-3
/* Bounds that may be wrong before the uncertainty grows by how much they are, and before nothing is believed. */
#define CLOCK_OUTLIERS 0.02
#define CLOCK_CONTRADICTING 0.25

/* A host's part in one operation. Times are those of its ranks. */
struct clock_part {
    uint32_t host;
    bool gives, takes, all; /* a rank of it gives, takes; each does both */
    int64_t enter;          /* the last of those that give */
    int64_t leave;          /* the first of those that take */
    int64_t last_enter;     /* of all */
};

struct clock_pair_key {
    uint64_t hosts; /* A << 32 | B; A < B */
};

/* A stretch of A's time. */
struct clock_bucket {
    struct clock_bound {
        int64_t at, ahead; /* at this time of A, B is ahead by at least or at most this */
    } least, most;
    struct clock_end {
        int64_t at, ahead; /* an operation of all ended at this time of A, and on B so much later */
        int64_t length;    /* from the last entry, which tells how much the ends may differ */
    } end;
    bool any_least, any_most, any_end;
};

struct clock_pair {
    uint32_t a, b;
    uint64_t operations;
    int64_t base, width; /* of the buckets: the time at which the first begins, and how long each is */
    struct clock_bucket *buckets;
    size_t bucket_count; /* of memory; each pair's grow up to job_clocks.pair_buckets */
};

/* The lines that are possible, by what they are at two times. */
struct clock_line {
    double at_first, at_last; /* B's ahead */
};

struct clock_region {
    int64_t first, last;    /* of A: what was seen; at least a second apart for the lines */
    struct clock_line line; /* the best */
    double uncertainty;     /* ns, from first to last */
    double drift_uncertainty;
    uint64_t bounds, outliers;
    bool any, contradicting;
};

void clock_pair_release(struct clock_pair *pair);

/* Adds an operation of both hosts; A's and B's times are relative. At most MOST buckets are used. Returns 0, or -1: no
 * memory. */
int clock_pair_add(struct clock_pair *pair, const struct clock_part *a, const struct clock_part *b, size_t most);

/* Halves the buckets until there are MOST. */
void clock_pair_shrink(struct clock_pair *pair, size_t most);

/* What is known in the end. Returns 0, or -1: no memory. */
int clock_pair_solve(const struct clock_pair *pair, struct clock_region *region);

#endif
