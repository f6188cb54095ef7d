/*
 * Histograms of any number of values in memory that depends only on their range. Values below 256 are stored exactly,
 * larger ones with an error of at most 1/256. Negative values count as 0.
 */
#ifndef GPUTRACE_ANALYSIS_BASE_SERIES_H
#define GPUTRACE_ANALYSIS_BASE_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"

/* The number of buckets of equal width into which each power of two is divided. */
#define HISTOGRAM_BUCKETS 128
#define HISTOGRAM_POWERS 57 /* 0..255 in buckets of 1, then powers up to 2^63 */

struct histogram {
    uint64_t *counts[HISTOGRAM_POWERS]; /* by power: its buckets; NULL: no value occurred */
    uint64_t total;
};

void histogram_release(struct histogram *histogram);

/* Returns the power whose buckets contain VALUE. Buckets of power P are 2^P wide and begin at 2^P * HISTOGRAM_BUCKETS;
 * power 0 has twice as many buckets, which begin at 0. */
static inline unsigned histogram_power(uint64_t value)
{
    return value < 2 * HISTOGRAM_BUCKETS ? 0 : 63 - 7 - (unsigned)__builtin_clzll(value);
}
_Static_assert(HISTOGRAM_BUCKETS == 1 << 7, "histogram_power() depends on it");

/* Allocates the buckets of POWER. Returns 0, or -1: no memory. */
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

/* Returns the value of rank RANK (from 0) of the sorted values, as the middle of its bucket, which is at most 0.4 %
 * off. */
int64_t histogram_rank(const struct histogram *histogram, uint64_t rank);

/*
 * Values of one kind, such as durations or sizes, and their statistics. Sums and extremes are exact. The median and the
 * deviation are exact for up to SERIES_EXACT values, which are all stored. For longer series the median is exact to 0.5
 * %, and memory does not grow further.
 */

#define SERIES_EXACT 2048

struct series {
    int64_t count, total, min, max;
    ARRAY(int64_t) values;    /* up to SERIES_EXACT values; empty for longer series */
    struct series_many *many; /* NULL: the values are in `values` */
};

/* The histogram and the sums that replace the values of a long series. */
struct series_many {
    struct histogram histogram;
    double origin; /* the average of the first SERIES_EXACT values */
    double distances,
        squares; /* the sums of the values' distances from `origin`, and of the squares of the distances */
};

/* Returns 0, or -1: no memory. */
int series_add(struct series *series, int64_t value);
void series_release(struct series *series);

struct summary {
    int64_t count, total, min, max;
    double average, median;
    double deviation; /* of a sample (divided by count - 1); 0 if there is one value */
};

/* Adds the number of values in each of BINS bins to COUNTS. The bins divide the logarithms of the range from the least
 * value (at least 1) to the greatest equally. */
void series_spread(const struct series *series, uint64_t *counts, size_t bins);

/* Reorders the values. Returns zeros for an empty series. */
struct summary series_summary(struct series *series);

/* The mean of the values without the lowest and the highest fifth (of three or four values: without the lowest and the
 * highest value), which outliers do not move. For more than SERIES_EXACT values it is exact to 0.4 %. */
struct trimmed {
    double mean;
    double variance; /* of the mean, where each left-out value counts as the nearest value that is not left out */
    double df;       /* degrees of freedom of the variance; 0: there is only one value, and the variance is 0 */
};

/* Reorders the values. Returns zeros for an empty series. */
struct trimmed series_trimmed(struct series *series);

#endif
