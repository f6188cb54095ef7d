/*
 * How long at least one operation runs, while operations are put in and taken out in any order: each takes a
 * logarithmic number of steps.
 */
#ifndef GPUTRACE_ANALYSIS_COVERAGE_H
#define GPUTRACE_ANALYSIS_COVERAGE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/cover.h"

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

/* OPERATIONS are those that may be put in. Gives 0, or -1: no memory. */
int coverage_init(struct coverage *coverage, const struct cover_operation *operations, size_t count);
void coverage_release(struct coverage *coverage);

/* Puts OPERATION in, or takes it out, where it was put in. */
void coverage_change(struct coverage *coverage, const struct cover_operation *operation, int by);

/* ns */
static inline int64_t coverage_length(const struct coverage *coverage)
{
    return coverage->nodes ? coverage->nodes[1].length : 0;
}

#endif
