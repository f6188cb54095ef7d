/*
 * How often values occurred, of any number of values, in memory that depends on how far apart they are alone: a value
 * is known to 1/256 of itself, and exactly below 256. Negative values count as 0.
 */
#ifndef GPUTRACE_ANALYSIS_HISTOGRAM_H
#define GPUTRACE_ANALYSIS_HISTOGRAM_H

#include <stdint.h>

/* Each power of two is parted into so many buckets of one width. */
#define HISTOGRAM_BUCKETS 128
#define HISTOGRAM_POWERS 57 /* 0..255 in buckets of 1, then powers up to 2^63 */

struct histogram {
    uint64_t *counts[HISTOGRAM_POWERS]; /* HISTOGRAM_BUCKETS each, 2 * those of the first; NULL: none occurred */
    uint64_t total;
};

void histogram_release(struct histogram *histogram);

/* Of power 0 buckets are 1 wide and there are twice as many; of power P they are 2^P wide, from 2^P * BUCKETS on. */
static inline unsigned histogram_power(uint64_t value)
{
    return value < 2 * HISTOGRAM_BUCKETS ? 0 : 63 - 7 - (unsigned)__builtin_clzll(value);
}
_Static_assert(HISTOGRAM_BUCKETS == 1 << 7, "histogram_power() knows");

/* Makes the buckets of POWER. Gives 0, or -1: no memory. */
int histogram_make(struct histogram *histogram, unsigned power);

/* Gives 0, or -1: no memory. */
static inline int histogram_add(struct histogram *histogram, int64_t value)
{
    uint64_t known = value > 0 ? (uint64_t)value : 0;
    unsigned power = histogram_power(known);
    if (!histogram->counts[power] && histogram_make(histogram, power) < 0)
        return -1;
    histogram->counts[power][(known >> power) - (power ? HISTOGRAM_BUCKETS : 0)]++;
    histogram->total++;
    return 0;
}

/* The value of rank RANK (from 0, less than total) when they are sorted: the middle of its bucket, so at most 1/256 of
 * it, 0.4 %, away. */
int64_t histogram_rank(const struct histogram *histogram, uint64_t rank);

#endif
