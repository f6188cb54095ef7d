/* How long things were busy: the lengths of unions of intervals, in memory that does not grow with them. */
#ifndef GPUTRACE_ANALYSIS_BASE_BUSY_H
#define GPUTRACE_ANALYSIS_BASE_BUSY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/sorter.h"

/* The length of the union of intervals, which are added in the order of their starts. All zero is empty. */
struct busy_sum {
    int64_t total; /* ns */
    int64_t until; /* the end of the last interval */
    bool any;
};

/* Returns by how much the total grows. */
static inline int64_t busy_sum_add(struct busy_sum *sum, int64_t start, int64_t end)
{
    int64_t from = sum->any && sum->until > start ? sum->until : start;
    if (end <= from)
        return 0;
    sum->any = true;
    sum->until = end;
    sum->total += end - from;
    return end - from;
}

/* Intervals of numbered things. Those of one thing come nearly in the order of their starts, so that neighbours merge;
 * all are sorted before they are read. */
struct busy {
    struct sorter intervals;
    ARRAY(struct busy_interval) last; /* the latest interval of each thing, which may still grow */
};

struct busy_interval {
    int64_t start, end;
    uint32_t number;
    bool any;
};

void busy_init(struct busy *busy, struct sorter_space *space);
void busy_release(struct busy *busy);

/* Returns 0, or -1: no memory. */
int busy_add(struct busy *busy, uint32_t number, int64_t start, int64_t end);

/* Sorts the intervals, after the last. Returns 0, or -1: no memory. */
int busy_ready(struct busy *busy);
/* Evaluates ADD with each interval in the order of their starts, and releases them. The value is 0, or -1: no memory,
 * or after error(). */
#define BUSY_EACH(busy, interval, add)                                                                \
    ({                                                                                                \
        int added_ = busy_ready(busy) ?: SORTER_EACH(&(busy)->intervals, interval, ((void)(add), 0)); \
        busy_release(busy);                                                                           \
        added_;                                                                                       \
    })

/*
 * GPU busy time, as all sections about ranges show it: the time in which at least one of a row's GPU operations ran, on
 * each GPU by itself, summed over the GPUs. An operation that belongs to several ranges of a row counts once.
 */

/* All zero is empty; `busy` is initialised before the first operation. */
struct range_busy {
    struct dense_map ids; /* index in gpus by {row, GPU} */
    ARRAY(struct range_busy_gpu) gpus;
    struct busy busy;      /* numbered by indices in gpus */
    ARRAY(int64_t) totals; /* of each row; after range_busy_finish() */
};

/* A total that was not measured (range_rows.h). */
#define RANGE_BUSY_UNKNOWN (-1)

/* The busy time of a row on one GPU. */
struct range_busy_gpu {
    uint32_t row;
    struct busy_sum sum; /* after range_busy_finish() */
};

void range_busy_release(struct range_busy *busy);

/* These return 0, or -1: no memory, or after error(). ROW is a number from 0 on, GPU any number. */
int range_busy_add(struct range_busy *busy, uint32_t row, uint32_t gpu, int64_t start, int64_t duration);
/* After the last. */
int range_busy_finish(struct range_busy *busy);
/* After range_busy_finish(): makes the total of a row RANGE_BUSY_UNKNOWN. */
int range_busy_leave_out(struct range_busy *busy, uint32_t row);

/* The busy time of ROW on all GPUs in ns, after range_busy_finish(); 0 if nothing was added to it. */
static inline int64_t range_busy_total(const struct range_busy *busy, size_t row)
{
    return row < busy->totals.count ? busy->totals.items[row] : 0;
}

/* The busy time of ROW on one GPU. */
int64_t range_busy_on(struct range_busy *busy, uint32_t row, uint32_t gpu);

#endif
