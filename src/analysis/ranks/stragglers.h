/*
 * Ranks that others wait for, and why: what they do longer than a typical rank; and links that slow all ranks down.
 * They are found in a trace and in a job alike.
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
    STRAGGLER_LINK, /* its link is slower (slow_links.h); it need not be late itself */
    STRAGGLER_REASON_COUNT
};

struct straggler {
    const struct rank *rank; /* of several ranks, the one that costs most; of a host's link, its first rank */
    uint32_t index;          /* of `rank` */
    int64_t ranks;           /* number of ranks that are late for the same reason, or that the link slows down */
    const uint32_t *members; /* indices of these ranks; NULL: it is about a link */
    int64_t count;           /* operations in which it is late, or that are slow */
    int64_t cost;            /* ns that it works longer than its peers, and is blocked for less time */
    int64_t gain;            /* ns of `cost` that others wait */
    enum straggler_reason reason;
    int64_t own, typical;      /* ns of what it does longer; 0: the reason is unknown */
    char text[FINDING_TEXT];   /* a sentence */
    char advice[FINDING_TEXT]; /* what to do */
};

/* Whether the rank with this index is one of the late ranks. */
static inline bool straggler_has(const struct straggler *straggler, uint32_t index)
{
    for (int64_t i = 0; i < straggler->ranks && straggler->members; i++)
        if (straggler->members[i] == index)
            return true;
    return false;
}

/* Writes "Communication that nothing hides takes 0.3 of 25 ms of a step, once … are taken out". */
void straggler_write_rest(char *text, size_t size, const struct rank *rank, int64_t rest);

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

struct slow_link;

#endif
