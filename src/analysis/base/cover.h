/*
 * How long a GPU was busy with the operations whose calls began in an interval, for any number of such queries that
 * may overlap: O((operations + queries) log operations).
 *
 * The algorithm adds operations in the order of their calls. At each point of GPU time it keeps the operation that
 * covers the point and was added last, and for each operation the total time that it is the last one of. A query is
 * answered when all operations are added that were called before its end: the answer is the sum of these totals over
 * the operations called since its beginning.
 */
#ifndef GPUTRACE_ANALYSIS_BASE_COVER_H
#define GPUTRACE_ANALYSIS_BASE_COVER_H

#include <stddef.h>
#include <stdint.h>

struct cover_operation {
    int64_t called, start, end;
    uint32_t thread, gpu; /* the caller's */
};

struct cover_query {
    int64_t first, last; /* of calls; both count */
    int64_t length;      /* the answer, ns */
    uint32_t row;        /* ROW, THREAD and OTHER are the caller's */
    uint32_t thread, other;
};

/* OPERATIONS come by their calls, QUERIES by `last`. Returns 0, or -1: no memory. */
int cover_answer(const struct cover_operation *operations, size_t count, struct cover_query *queries,
                 size_t query_count);

/* --- how long at least one operation runs, while operations are added and removed in any order. Each change takes
 * O(log operations) --- */

/* All zero is empty. */
struct coverage {
    int64_t *times; /* at which operations start and end, each once, by time */
    size_t count;
    struct coverage_node *nodes; /* a segment tree over the intervals between these; the children of n are 2n, 2n + 1 */
};

struct coverage_node {
    int64_t length; /* of what is covered */
    uint32_t whole; /* operations that cover this node, but not its parent */
};

/* OPERATIONS are those that may be added. Returns 0, or -1: no memory. */
int coverage_init(struct coverage *coverage, const struct cover_operation *operations, size_t count);
void coverage_release(struct coverage *coverage);

/* Adds OPERATION (BY is 1), or removes it (-1) after it was added. */
void coverage_change(struct coverage *coverage, const struct cover_operation *operation, int by);

/* ns */
static inline int64_t coverage_length(const struct coverage *coverage)
{
    return coverage->nodes ? coverage->nodes[1].length : 0;
}

#endif
