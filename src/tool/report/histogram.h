/*
 * How often values occurred, of any number of values, in memory that depends on how far apart they are alone: a value
 * is known to 1/256 of itself, and exactly below 256. Negative values count as 0.
 */
#ifndef GPUTRACE_TOOL_REPORT_HISTOGRAM_H
#define GPUTRACE_TOOL_REPORT_HISTOGRAM_H

#include <stdint.h>

/* Each power of two is parted into so many buckets of one width. */
#define HISTOGRAM_BUCKETS 128
#define HISTOGRAM_POWERS 57 /* 0..255 in buckets of 1, then powers up to 2^63 */

struct histogram {
    uint64_t *counts[HISTOGRAM_POWERS]; /* HISTOGRAM_BUCKETS each, 2 * those of the first; NULL: none occurred */
    uint64_t total;
};

void histogram_release(struct histogram *histogram);

/* Gives 0, or -1: no memory. */
int histogram_add(struct histogram *histogram, int64_t value);

/* The value of rank RANK (from 0, less than total) when they are sorted: the middle of its bucket, so at most 1/256 of
 * it, 0.4 %, away. */
int64_t histogram_rank(const struct histogram *histogram, uint64_t rank);

#endif
