/*
 * How often values occurred, of any number of values, in memory that depends only on their range: a value is known to
 * 1/256 of itself, and exactly below 256. Negative values count as 0.
 */
#ifndef GPUTRACE_ANALYSIS_BASE_SERIES_H
#define GPUTRACE_ANALYSIS_BASE_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"

/* Each power of two is divided into so many buckets of one width. */
#define HISTOGRAM_BUCKETS 128
#define HISTOGRAM_POWERS 57 /* 0..255 in buckets of 1, then powers up to 2^63 */

struct histogram {
    uint64_t *counts[HISTOGRAM_POWERS]; /* HISTOGRAM_BUCKETS each, the first has twice as many; NULL: none occurred */
    uint64_t total;
};

void histogram_release(struct histogram *histogram);

/* Buckets of power 0 are 1 wide, and twice as many; those of power P are 2^P wide and begin at 2^P * BUCKETS. */
static inline unsigned histogram_power(uint64_t value)
{
    return value < 2 * HISTOGRAM_BUCKETS ? 0 : 63 - 7 - (unsigned)__builtin_clzll(value);
}
_Static_assert(HISTOGRAM_BUCKETS == 1 << 7, "histogram_power() depends on it");

/* Makes the buckets of POWER. Returns 0, or -1: no memory. */
int histogram_make(struct histogram *histogram, unsigned power);

/* Returns 0, or -1: no memory. */
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

/* The value of rank RANK (from 0) when they are sorted: the middle of its bucket, at most 0.4 % away. */
int64_t histogram_rank(const struct histogram *histogram, uint64_t rank);

/*
 * Values of one kind (durations, sizes) and their statistics. Sums and extremes are exact. So are the
 * median and the deviation of up to SERIES_EXACT values, which are all kept; of more the median is known to 0.5 %, and
 * memory does not grow any further.
 */

#define SERIES_EXACT 2048

struct series {
    int64_t count, total, min, max;
    ARRAY(int64_t) values;    /* up to SERIES_EXACT; then none */
    struct series_many *many; /* NULL: the values are kept */
};

/* What stands for the values of a long series. */
struct series_many {
    struct histogram histogram;
    double origin;             /* near them all: the average of the first */
    double distances, squares; /* sums of the values' distances from there, and of their squares */
};

/* Returns 0, or -1: no memory. */
int series_add(struct series *series, int64_t value);
void series_release(struct series *series);

struct summary {
    int64_t count, total, min, max;
    double average, median;
    double deviation; /* of a sample: divided by count - 1; 0 if there is one value */
};

/* Adds to COUNTS how many values are in each of BINS bins, whose bounds are in equal ratios from the least value (from
 * 1 on) to the greatest. */
void series_spread(const struct series *series, uint64_t *counts, size_t bins);

/* Reorders the values. Returns zeros for an empty series. */
struct summary series_summary(struct series *series);

/* The mean without the lowest and the highest fifth of the values (of three and four values: without the lowest and the
 * highest one), so that outliers do not move it. For more than SERIES_EXACT values it is known to 0.4 %. */
struct trimmed {
    double mean;
    double variance; /* of the mean: the outer values count as the nearest ones that are in it */
    double df;       /* degrees of freedom of the variance; 0: there is one value, and no variance */
};

/* Reorders the values. Returns zeros for an empty series. */
struct trimmed series_trimmed(struct series *series);

#endif
