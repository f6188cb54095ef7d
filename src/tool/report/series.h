/*
 * Values of one kind (durations, sizes) and what is to be said about them. All values are kept, so that the median is
 * exact; the sums are exact too.
 */
#ifndef GPUTRACE_TOOL_REPORT_SERIES_H
#define GPUTRACE_TOOL_REPORT_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "tool/report/groups.h"

struct series {
    ARRAY(int64_t) values;
    int64_t total;
};

/* Gives 0, or -1: no memory. */
int series_add(struct series *series, int64_t value);
void series_release(struct series *series);

/* A series for each key: the usual state of a section. All zero is empty. */
struct series_by {
    struct groups groups;
    ARRAY(struct series) items; /* by the groups' numbers */
};

/* Adds VALUE to the series of KEY (see groups.h). Gives 0, or -1: no memory. */
int series_by_add(struct series_by *series, const void *key, size_t size, int64_t value);
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
