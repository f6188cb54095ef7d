/*
 * How long GPUs were busy with what was launched in rows of ranges, if too many rows are open at once to add each
 * operation to each of them.
 *
 * A row that was open once on one thread, or once on two threads at the same time, is a query about consecutive
 * calls (cover.h), and any number of queries is answered. The other rows are sorted by their start, and from one to
 * the next the operations are added and removed that only one of the two has (struct coverage). These are few if each
 * step of several threads leaks a range. A row that takes more steps than the limit is left out.
 */
#ifndef GPUTRACE_ANALYSIS_RANGES_RANGE_DEPTH_H
#define GPUTRACE_ANALYSIS_RANGES_RANGE_DEPTH_H

#include <stddef.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "analysis/base/busy.h"
#include "analysis/base/cover.h"
#include "analysis/engine/ranges.h"

/* The limit of steps, of about 50 ns each: EACH for every operation and range, and ALL in addition. */
struct range_rows_limit {
    uint64_t each, all;
};

/* A time in which ranges of a row were open on a thread. */
struct range_depth_span {
    int64_t first, last; /* both are in it */
    uint32_t row, thread;
};

struct range_depth {
    FILE_VECTOR(struct range_depth_span) spans; /* by thread, then first, while they are gathered */
    FILE_VECTOR(struct cover_operation) operations;
    FILE_VECTOR(struct cover_query) queries;
    FILE_VECTOR(struct range_depth_row) others;
    uint64_t steps; /* that are left for these */
};

/* A row that is more than one query. */
struct range_depth_row {
    size_t first, count; /* its spans, which are sorted by row */
    int64_t earliest;    /* the first start of its spans */
    uint32_t row;
};

void range_depth_init(struct range_depth *depth, const char *directory);
void range_depth_release(struct range_depth *depth);

/* Adds a span for RANGE of ROW, which overlaps no earlier range of ROW on this thread. The last span may still be
 * extended. Returns 0, or -1: no memory. */
int range_depth_span(struct range_depth *depth, uint32_t row, const struct range *range);

/* Adds the busy time of all rows to BUSY, which is finished. `operations` are sorted by thread and call. Returns 0, or
 * -1: no memory, or after error(). */
int range_depth_measure(struct range_depth *depth, const struct range_rows_limit *limit, struct range_busy *busy);

#endif
