/*
 * How long GPUs were busy with the operations that were called from one time to another, for any number of such
 * questions, however they overlap: O((operations + questions) log operations).
 *
 * Operations are gone through by their calls. Each moment knows the last operation that covers it so far, and for each
 * operation the time is known of which it is the last. The answer to a question is the sum of these times, when all are
 * gone through that are called by its end, over those that are called from its beginning on.
 */
#ifndef GPUTRACE_ANALYSIS_COVER_H
#define GPUTRACE_ANALYSIS_COVER_H

#include <stddef.h>
#include <stdint.h>

struct cover_operation {
    int64_t called, start, end;
    uint32_t thread, gpu; /* the caller's */
};

struct cover_question {
    int64_t first, last; /* of calls; both count */
    int64_t length;      /* the answer, ns */
    uint32_t row;        /* the caller's, as are: */
    uint32_t thread, other;
};

/* OPERATIONS come by their calls, QUESTIONS by `last`. Returns 0, or -1: no memory. */
int cover_answer(const struct cover_operation *operations, size_t count, struct cover_question *questions,
                 size_t question_count);

/* --- how long at least one operation runs, while operations are added and removed in any order: each takes a
 * logarithmic number of steps --- */

/* All zero is that of no operation. */
struct coverage {
    int64_t *times; /* at which operations start and end, each once, by time */
    size_t count;
    struct coverage_node *nodes; /* a tree over the pieces between these, from 1 on; those below n are 2n and 2n + 1 */
};

struct coverage_node {
    int64_t length; /* that is covered */
    uint32_t whole; /* operations that cover all of it, but not all of what is above */
};

/* OPERATIONS are those that may be put in. Returns 0, or -1: no memory. */
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
