/*
 * Finds ranks that others wait for, and why: what they do longer than a typical rank. Finds also links that slow all
 * ranks down. Works on a trace and on a job alike.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_STRAGGLERS_H
#define GPUTRACE_ANALYSIS_RANKS_STRAGGLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/engine/findings.h"
#include "analysis/ranks/ranks.h"

enum straggler_reason {
    STRAGGLER_KERNELS, /* kernels take longer */
    STRAGGLER_COPIES,  /* copies take longer */
    STRAGGLER_LOADING, /* the DataLoader takes longer */
    STRAGGLER_HOST,    /* the host launches late */
    STRAGGLER_UNKNOWN,
    STRAGGLER_LINK, /* its link is slow (slow_links.h); the rank need not be late itself */
    STRAGGLER_REASON_COUNT
};

struct straggler {
    const struct rank *rank; /* the rank that costs most, or the first rank of the host with a slow link */
    uint32_t index;          /* index of `rank` in ranks.items */
    int64_t ranks;           /* number of ranks that are late for the same reason, or that the link slows down */
    const uint32_t *members; /* indices of these ranks; NULL for a link */
    int64_t count;           /* number of operations in which the rank is late, or that are slow */
    int64_t cost;            /* ns that the rank works longer than its peers, and so is blocked for less time */
    int64_t gain;            /* part of `cost` that others wait, ns */
    enum straggler_reason reason;
    int64_t own, typical;      /* ns of what `rank` does longer, and of a typical rank; 0: unknown reason */
    char text[FINDING_TEXT];   /* a sentence */
    char advice[FINDING_TEXT]; /* what to do */
};

/* Returns whether the rank with this index is one of the late ranks. */
static inline bool straggler_has(const struct straggler *straggler, uint32_t index)
{
    for (int64_t i = 0; i < straggler->ranks && straggler->members; i++)
        if (straggler->members[i] == index)
            return true;
    return false;
}

/* Writes a finding about exposed communication of which REST ns are left: "Communication that nothing hides takes 0.3
 * of 25 ms of a step, once … are taken out". */
void straggler_write_rest(char *text, size_t size, const struct rank *rank, int64_t rest);

/* Returns whether a finding of RULE, a FINDING_RULE_ number, about a late rank has the straggler's reason, so that the
 * finding becomes part of the straggler's. */
bool straggler_explains(const struct straggler *straggler, unsigned rule);

/* Sums the time that late ranks and slow links make other ranks wait. Initialise with zeros. */
struct straggler_sum {
    int64_t late, linked; /* ns */
    bool own;             /* the rank in question is late itself */
    bool imbalance;       /* a finding says that a stage of the pipeline makes the others wait */
};
void straggler_sum_add(struct straggler_sum *sum, const struct straggler *straggler, uint32_t rank);
/* Returns what is left of COST, the exposed communication of RANK, without the waits of SUM and without waiting for
 * other stages of a pipeline. Returns COST if SUM is empty. */
int64_t straggler_rest(const struct straggler_sum *sum, const struct rank *rank, int64_t cost);

typedef int straggler_each(void *context, const struct straggler *straggler);

/* Calls EACH for all ranks that work longer than their peers by at least LEAST ns in all, and for slow links that cost
 * at least LEAST, until EACH returns non-zero. Returns the last result of EACH, or -1: no memory. */
int stragglers_each(const struct ranks *ranks, int64_t least, straggler_each *each, void *context);

struct slow_link;

#endif
