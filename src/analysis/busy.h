/*
 * How long something was busy: the union of intervals, so that what overlaps counts once.
 */
#ifndef GPUTRACE_ANALYSIS_BUSY_H
#define GPUTRACE_ANALYSIS_BUSY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "analysis/groups.h"
#include "common/sorter.h"

struct busy {
    ARRAY(struct busy_interval) intervals; /* parted by gaps, unless they came out of order */
    bool disordered;
};

struct busy_interval {
    int64_t start, end;
};

/* Returns 0, or -1: no memory. Intervals that come by their start, and touch, are joined at once. */
int busy_add(struct busy *busy, int64_t start, int64_t end);

/* The length of the union, ns. */
int64_t busy_total(struct busy *busy);
void busy_release(struct busy *busy);

/*
 * GPU busy time, as all sections about ranges show it: the time in which at least one of a row's GPU operations ran, on
 * each GPU by itself, summed over the GPUs. An operation that belongs to several ranges of a row counts once. Memory
 * does not grow with the operations.
 */

/* All zero is empty. */
struct range_busy {
    struct groups ids; /* {row, GPU} -> parts */
    ARRAY(struct range_busy_part) parts;
    struct sorter pieces;  /* times without a gap, by start */
    ARRAY(int64_t) totals; /* of each row; after range_busy_finish() */
};

/* Instead of a total: it was not measured (range_rows.h). */
#define RANGE_BUSY_UNKNOWN (-1)

/* A row on one GPU. */
struct range_busy_part {
    uint32_t row;
    bool any;
    int64_t start, end; /* of its last piece */
    int64_t until;      /* while pieces are added up: what was counted ends there */
    int64_t total;      /* after range_busy_finish() */
};

void range_busy_init(struct range_busy *busy, struct sorter_room *room);
void range_busy_release(struct range_busy *busy);

/* These return 0, or -1: no memory, or after error(). ROW is a number from 0 on, GPU any number. */
int range_busy_add(struct range_busy *busy, uint32_t row, uint32_t gpu, int64_t start, int64_t duration);
/* After the last. */
int range_busy_finish(struct range_busy *busy);
/* After that: a row of which nothing was added before was busy so long on a GPU. */
int range_busy_put(struct range_busy *busy, uint32_t row, uint32_t gpu, int64_t total);

/* After range_busy_finish(): ns; 0 of a row that nothing was added to. */
static inline int64_t range_busy_total(const struct range_busy *busy, size_t row)
{
    return row < busy->totals.count ? busy->totals.items[row] : 0;
}

/* Of the row on one GPU. */
int64_t range_busy_on(struct range_busy *busy, uint32_t row, uint32_t gpu);

#endif
