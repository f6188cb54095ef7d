/*
 * Values of one kind (durations, sizes) and what is to be said about them. Sums and extremes are exact. So are the
 * median and the deviation of up to SERIES_EXACT values, which are all kept; of more the median is known to 0.5 %, and
 * memory does not grow any further.
 */
#ifndef GPUTRACE_ANALYSIS_SERIES_H
#define GPUTRACE_ANALYSIS_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "analysis/groups.h"
#include "analysis/histogram.h"

#define SERIES_EXACT 2048

struct series {
    int64_t count, total, min, max;
    ARRAY(int64_t) values;    /* up to SERIES_EXACT; then none */
    struct series_many *many; /* NULL: the values are kept */
};

/* What is kept of many values. */
struct series_many {
    struct histogram histogram;
    double origin;             /* near them all: the average of the first */
    double distances, squares; /* sums of each one's distance from there, and of its square */
};

/* Gives 0, or -1: no memory. */
int series_add(struct series *series, int64_t value);
void series_release(struct series *series);

/* TOTAL and that of SERIES; of very large ones the most that there is. */
static inline int64_t series_plus(int64_t total, const struct series *series)
{
    return __builtin_add_overflow(total, series->total, &total) ? INT64_MAX : total;
}

/* A series for each key: the usual state of a section. All zero is empty. */
struct series_by {
    struct groups groups;
    ARRAY(struct series) items; /* by the groups' numbers */
};

/* Adds VALUE to the series of KEY (see groups.h). Gives 0, or -1: no memory. */
static inline int series_by_add(struct series_by *series, const void *key, size_t size, int64_t value)
{
    struct series *one = groups_item_bytes(&series->groups, key, size, (void **)&series->items.items,
                                           &series->items.count, &series->items.capacity, sizeof(*one));
    return one ? series_add(one, value) : -1;
}
/* The sum of all series. */
int64_t series_by_total(const struct series_by *series);
void series_by_release(struct series_by *series);

struct summary {
    int64_t count, total, min, max;
    double average, median;
    double deviation; /* of a sample: divided by count - 1; 0 of one value */
};

/* Puts the values in another order. Of an empty series all is 0. */
struct summary series_summary(struct series *series);

#endif
