/*
 * Ranks that others wait for, and why: what they do longer than a typical rank; and links that slow all ranks down.
 * They are found in a trace and in a job alike.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_STRAGGLERS_H
#define GPUTRACE_ANALYSIS_RANKS_STRAGGLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/engine/findings.h"
#include "analysis/ranks/ranks.h"
#include "analysis/ranks/straggler_words.h"

/* Sets `between` of each rank, after ranks_of_trace(): the operations or lines of the program between which its host is
 * outside CUDA for longest. With CPU samples nothing is set. Returns 0, or -1: no memory. */
int stragglers_describe_gaps(struct ranks *ranks, const struct trace *trace);

/* Whether a finding of RULE, a FINDING_RULE_… number, about a late rank has the same reason, so that both are one
 * finding. */
bool straggler_explains(const struct straggler *straggler, unsigned rule);

/* The time that late ranks and slow links make other ranks wait. All zero is empty. */
struct straggler_sum {
    int64_t late, linked; /* ns */
    bool own;             /* the rank in question is a late one */
    bool imbalance;       /* there is a finding about a stage of the pipeline that makes the others wait */
};
void straggler_sum_add(struct straggler_sum *sum, const struct straggler *straggler, uint32_t rank);
/* The rest of COST, the exposed communication of RANK, without SUM and without waiting for other stages of a pipeline.
 * Returns COST if there is nothing of these. */
int64_t straggler_rest(const struct straggler_sum *sum, const struct rank *rank, int64_t cost);

typedef int straggler_each(void *context, const struct straggler *straggler);

/* Calls EACH for all ranks that work longer than their peers by at least LEAST ns in all, and for slow links that cost
 * as much, until it returns non-zero. Returns that, or 0, or -1: no memory. */
int stragglers_each(const struct ranks *ranks, int64_t least, straggler_each *each, void *context);

#endif
