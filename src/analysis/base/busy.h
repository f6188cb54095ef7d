/* Computes how long things were busy, as lengths of unions of intervals, in memory that does not grow with the number
 * of intervals. */
#ifndef GPUTRACE_ANALYSIS_BASE_BUSY_H
#define GPUTRACE_ANALYSIS_BASE_BUSY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/sorter.h"

/* The length of the union of intervals that are added in the order of their starts. All zero is empty. */
struct busy_sum {
    int64_t total; /* ns */
    int64_t until; /* the end of the last interval */
    bool any;
};

/* Adds an interval. Returns by how many ns the total grows. */
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

/* Intervals of numbered things. The intervals of a thing are added nearly in the order of their starts, so that most of
 * them merge at once. All intervals are sorted before they are read. */
struct busy {
    struct sorter intervals;
    ARRAY(struct busy_interval) last; /* by number: the thing's last interval, which may still grow */
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

/* Sorts the intervals after the last was added. Returns 0, or -1: no memory. */
int busy_ready(struct busy *busy);
/* Evaluates ADD with each interval in the order of the starts, then releases all intervals. The value is 0, or -1: no
 * memory, or after error(). */
#define BUSY_EACH(busy, interval, add)                                                                \
    ({                                                                                                \
        int added_ = busy_ready(busy) ?: SORTER_EACH(&(busy)->intervals, interval, ((void)(add), 0)); \
        busy_release(busy);                                                                           \
        added_;                                                                                       \
    })

/*
 * The GPU busy time of the rows of sections about ranges: for each GPU, the time in which at least one of a row's GPU
 * operations ran, summed over the GPUs. An operation that belongs to several ranges of a row counts once.
 */

/* All zero is empty, but the user calls busy_init() for `busy` before the first operation is added. */
struct range_busy {
    struct dense_map ids; /* {row, GPU} -> index in `gpus` */
    ARRAY(struct range_busy_gpu) gpus;
    struct busy busy;      /* NUMBER is an index in `gpus` */
    ARRAY(int64_t) totals; /* by row; set by range_busy_finish() */
};

/* Stands for a total that was not measured (range_rows.h). */
#define RANGE_BUSY_UNKNOWN (-1)

/* The busy time of a row on one GPU. */
struct range_busy_gpu {
    uint32_t row;
    struct busy_sum sum; /* after range_busy_finish() */
};

void range_busy_release(struct range_busy *busy);

/* Adds an operation that ran for a row on a GPU; START and DURATION are ns. ROW counts from 0; GPU is any number. This
 * and the next two functions return 0, or -1: no memory, or after error(). */
int range_busy_add(struct range_busy *busy, uint32_t row, uint32_t gpu, int64_t start, int64_t duration);
/* Computes the busy times after the last operation was added. */
int range_busy_finish(struct range_busy *busy);
/* Sets the total of a row to RANGE_BUSY_UNKNOWN; called after range_busy_finish(). */
int range_busy_leave_out(struct range_busy *busy, uint32_t row);

/* Returns the busy time in ns of ROW on all GPUs, after range_busy_finish(); 0 if the row has no operation. */
static inline int64_t range_busy_total(const struct range_busy *busy, size_t row)
{
    return row < busy->totals.count ? busy->totals.items[row] : 0;
}

/* Returns the busy time in ns of ROW on one GPU, after range_busy_finish(). */
int64_t range_busy_on(struct range_busy *busy, uint32_t row, uint32_t gpu);

#endif
