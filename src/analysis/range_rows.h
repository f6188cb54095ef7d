/*
 * How long GPUs were busy with what was launched in the ranges of each row of a section, in time that does not grow
 * with how many ranges are open at once.
 *
 * Mostly few rows are open, and each GPU operation is added to each of them (busy.h). Where that would take too
 * many steps, as of a program that never ends its ranges, it is given up, and done otherwise (range_depth.h).
 */
#ifndef GPUTRACE_ANALYSIS_RANGE_ROWS_H
#define GPUTRACE_ANALYSIS_RANGE_ROWS_H

#include <stdint.h>

#include "common/array.h"
#include "analysis/busy.h"
#include "analysis/groups.h"
#include "analysis/range_depth.h"
#include "analysis/ranges.h"

#define RANGE_ROW_OUTSIDE 0 /* the row of operations in no range */
#define RANGE_ROW_NONE UINT32_MAX

#define RANGE_ROWS_LIMIT ((struct range_rows_limit){64, 1000000})

struct range_rows {
    const struct ranges *ranges;
    bool nesting; /* ranges that were started and ended are left out */
    const struct launched_ops *gpu_ops;
    struct sorter_room *room;
    struct range_rows_limit limit; /* RANGE_ROWS_LIMIT; tests have less */
    void *context;
    /* The row, from 1 on, of the range that the walk has opened last. RANGE_ROW_NONE: no memory. */
    uint32_t (*row)(void *context, struct range_walk *walk);
    /* The GPU or stream whose busy times are kept apart. */
    uint32_t (*gpu)(void *context, const struct launched_op *op);
    /* NULL, or called for each operation, with whether it is in no range. Returns 0, or -1: no memory. */
    int (*operation)(void *context, const struct launched_op *op, bool outside);
};

/* Opens all ranges, and sets BUSY, all zero before, which is then finished; rows that would take too many steps even so
 * are RANGE_BUSY_UNKNOWN, and a warning says how many. Returns 0, or -1: no memory, or after error(). */
int range_rows_gather(const struct range_rows *rows, struct range_busy *busy);

struct cell;
/* The busy time of a row; empty when it is not known. */
struct cell range_rows_cell(const struct range_busy *busy, uint32_t row);

/* --- ranges on a thread that nest form a forest. A range that overlaps another without nesting is left out of it.
 * Ranges of the same names on the whole path are one node --- */

struct range_node {
    uint32_t parent; /* index + 1; 0: outermost */
    uint32_t depth;  /* 0: outermost */
    uint32_t name, domain;
};

/* All zero is empty. */
struct range_forest {
    struct groups ids;
    ARRAY(struct range_node) nodes;
};

void range_forest_release(struct range_forest *forest);

/* Sets `node` of the range that WALK, of those that nest, has opened last. TAKEN becomes the time that this one took of
 * its parent's own: what no other inner one of that parent had taken. Returns 0, or -1: no memory. */
int range_forest_place(struct range_forest *forest, struct range_walk *walk, int64_t *taken);

struct cell;
struct table;
struct trace;
/* "outer/inner": the names on the way to a node (index + 1, 0: none), of many the innermost. */
struct cell range_forest_path_cell(const struct range_forest *forest, const struct trace *trace, struct table *table,
                                   uint32_t node);

#endif
