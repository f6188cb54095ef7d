/*
 * How long GPUs were busy with what was launched in the ranges of each row of a section, in time that does not grow
 * with how many ranges are open at once.
 *
 * Mostly few rows are open, and each GPU operation is added to each of them (busy.h). Where that would take too
 * many steps, as of a program that never ends its ranges, it is given up, and done otherwise (range_depth.c).
 */
#ifndef GPUTRACE_ANALYSIS_RANGE_ROWS_H
#define GPUTRACE_ANALYSIS_RANGE_ROWS_H

#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "analysis/busy.h"
#include "analysis/cover.h"
#include "analysis/groups.h"
#include "analysis/ranges.h"
#include "analysis/trace.h"

/* How many steps may be taken, of about 50 ns: for each operation and range, and beyond that for all together. */
struct range_rows_limit {
    uint64_t each, all;
};

#define RANGE_ROW_OUTSIDE 0 /* the row of operations in no range */
#define RANGE_ROW_NONE UINT32_MAX

#define RANGE_ROWS_LIMIT ((struct range_rows_limit){64, 1000000})

struct range_rows {
    const struct trace *trace;     /* its ranges, and the operations that were launched in them */
    bool nesting;                  /* ranges that were started and ended are left out */
    struct range_rows_limit limit; /* RANGE_ROWS_LIMIT; tests have less */
    void *context;
    /* The row, from 1 on, of the range that the walk has opened last. RANGE_ROW_NONE: no memory. */
    uint32_t (*row)(void *context, struct range_walk *walk);
    /* The GPU or stream whose busy times are kept apart. NULL: the GPU. */
    uint32_t (*gpu)(void *context, const struct launched_op *op);
    /* NULL, or called for each operation, with whether it is in no range. Returns 0, or -1: no memory. */
    int (*operation)(void *context, const struct launched_op *op, bool outside);
};

static inline uint32_t range_rows_gpu(const struct range_rows *rows, const struct launched_op *op)
{
    return rows->gpu ? rows->gpu(rows->context, op) : rows->trace->streams.items[op->stream].device;
}

/* What rows of ranges have in common that are told apart by their names and by how they were made. */
struct range_kind {
    uint64_t name, domain;
    uint64_t form; /* push and pop; start and end; in no range */
};
enum { RANGE_NESTED, RANGE_STARTED, RANGE_IN_NONE };

#define RANGE_KIND_OUTSIDE ((struct range_kind){EVENT_NO_TEXT, EVENT_NO_TEXT, RANGE_IN_NONE})

static inline struct range_kind range_kind_of(const struct range *range)
{
    return (struct range_kind){range->name, range->domain, range->started ? RANGE_STARTED : RANGE_NESTED};
}

/* Opens all ranges, and sets BUSY, all zero before, which is then finished; rows that would take too many steps even so
 * are RANGE_BUSY_UNKNOWN, and a warning says how many. A trace without ranges leaves it as it is. Returns 0, or -1: no
 * memory, or after error(). */
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

/*
 * --- range_depth.c: how long GPUs were busy with what was launched in rows of ranges, where too many rows are open at
 * once to add each operation to each of them.
 *
 * A row that is open on one thread once, or on two threads at the same time, is a question about calls that follow one
 * another (cover.h), and any number of these is answered. Other rows come by their start, and from one to the next
 * those operations are put in and taken out that only one of them has (struct coverage): few, where a range is leaked
 * in each step of several threads. What takes more than a limit is left out.
 */

/* A time in which ranges of a row were open on a thread. */
struct range_depth_span {
    int64_t first, last; /* both belong to it */
    uint32_t row, thread;
};

struct range_depth {
    FILE_VECTOR(struct range_depth_span) spans; /* by thread, then first, while they are gathered */
    FILE_VECTOR(struct cover_operation) operations;
    FILE_VECTOR(struct cover_question) questions;
    FILE_VECTOR(struct range_depth_row) others;
    uint64_t steps; /* that are left for those */
};

/* A row that is not one question. */
struct range_depth_row {
    size_t first, count; /* of its spans, which are sorted by row */
    int64_t earliest;    /* start of these */
    uint32_t row;
};

void range_depth_init(struct range_depth *depth, const char *directory);
void range_depth_release(struct range_depth *depth);

/* ROW has a RANGE open that overlaps none of its own on this thread so far; the last span may still be extended.
 * Returns 0, or -1: no memory. */
int range_depth_span(struct range_depth *depth, uint32_t row, const struct range *range);

/* After the last: adds to BUSY, which is finished. Returns 0, or -1: no memory, or after error(). */
int range_depth_measure(struct range_depth *depth, const struct range_rows *rows, struct range_busy *busy);

#endif
