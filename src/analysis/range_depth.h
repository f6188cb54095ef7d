/*
 * How long GPUs were busy with what was launched in rows of ranges, where too many rows are open at once to add each
 * operation to each of them.
 *
 * A row that is open on one thread once, or on two threads at the same time, is a question about calls that follow one
 * another (cover.h), and any number of these is answered. Other rows come by their start, and from one to the next
 * those operations are put in and taken out that only one of them has (struct coverage): few, where a range is leaked
 * in each step of several threads. What takes more than a limit is left out.
 */
#ifndef GPUTRACE_ANALYSIS_RANGE_DEPTH_H
#define GPUTRACE_ANALYSIS_RANGE_DEPTH_H

#include "common/file_vector.h"
#include "analysis/cover.h"
#include "analysis/busy.h"
#include "analysis/gpu_ops.h"
#include "analysis/ranges.h"

/* A time in which ranges of a row were open on a thread. */
struct range_depth_span {
    int64_t first, last; /* both belong to it */
    uint32_t row, thread;
};

/* How many steps may be taken, of about 50 ns: for each operation and range, and beyond that for all together. */
struct range_rows_limit {
    uint64_t each, all;
};

/* The operations, and the number that GPU gives each: that of the GPU or stream whose busy times are kept apart. */
struct range_depth_ops {
    const struct launched_ops *gpu_ops;
    uint32_t (*gpu)(void *context, const struct launched_op *op);
    void *context;
    struct range_rows_limit limit;
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
int range_depth_measure(struct range_depth *depth, const struct range_depth_ops *ops, struct range_busy *busy);

#endif
