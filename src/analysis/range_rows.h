/*
 * How long GPUs were busy with what was launched in the ranges of each row of a section, in time that does not grow
 * with how many ranges are open at once.
 *
 * Mostly few rows are open, and each GPU operation is added to each of them (range_busy.h). Where that would take too
 * many steps, as of a program that never ends its ranges, it is given up, and done otherwise (range_depth.h).
 */
#ifndef GPUTRACE_ANALYSIS_RANGE_ROWS_H
#define GPUTRACE_ANALYSIS_RANGE_ROWS_H

#include "analysis/range_busy.h"
#include "analysis/range_walk.h"

#define RANGE_ROW_OUTSIDE 0 /* the row of operations in no range */
#define RANGE_ROW_NONE UINT32_MAX

/* How many steps may be taken, of about 50 ns: for each operation and range, and beyond that for all together. */
struct range_rows_limit {
    uint64_t each, all;
};
#define RANGE_ROWS_LIMIT ((struct range_rows_limit){64, 1000000})

struct range_rows {
    const struct ranges *ranges;
    bool nesting; /* ranges that were started and ended are left out */
    const struct called_works *works;
    struct sorter_room *room;
    struct range_rows_limit limit; /* RANGE_ROWS_LIMIT; tests have less */
    void *context;
    /* The row, from 1 on, of the range that the walk has opened last. RANGE_ROW_NONE: no memory. */
    uint32_t (*row)(void *context, struct range_walk *walk);
    /* The GPU or stream whose busy times are kept apart. */
    uint32_t (*gpu)(void *context, const struct called_work *work);
    /* NULL, or is shown each operation, and whether it is in no range. Gives 0, or -1: no memory. */
    int (*operation)(void *context, const struct called_work *work, bool outside);
};

/* Opens all ranges, and sets BUSY, all zero before, which is then finished; rows that would take too many steps even so
 * are RANGE_BUSY_UNKNOWN, and a warning says how many. Gives 0, or -1: no memory, or after error(). */
int range_rows_gather(const struct range_rows *rows, struct range_busy *busy);

struct cell;
/* The busy time of a row; empty when it is not known. */
struct cell range_rows_cell(const struct range_busy *busy, uint32_t row);

#endif
