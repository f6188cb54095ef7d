/*
 * Ranks that others wait for, and why: what they do longer than a typical rank; and links that slow them all down. Of a
 * trace and of a job.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_STRAGGLERS_H
#define GPUTRACE_ANALYSIS_RANKS_STRAGGLERS_H

#include <stdbool.h>
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
    const struct rank *rank; /* of several the one that costs most; of a link of a host the first of its ranks */
    uint32_t index;          /* of `rank` */
    int64_t ranks;           /* that are late for the same reason; of a link of a host those that it slows down */
    const uint32_t *members; /* indices of these; NULL: of a link */
    int64_t count;           /* operations in which it is late, or that are slow */
    int64_t cost;            /* ns that it works longer than its peers, and is blocked for less time */
    int64_t gain;            /* ns of it that others wait */
    enum straggler_reason reason;
    int64_t own, typical;      /* ns of what it does longer; 0 of an unknown reason */
    char text[FINDING_TEXT];   /* a sentence */
    char advice[FINDING_TEXT]; /* what to do */
};

/* After ranks_of_trace(): puts in between which operations and lines of the program the host of each rank is outside
 * CUDA for longest, where no samples say what it does there. Returns 0, or -1: no memory. */
int stragglers_say_gaps(struct ranks *ranks, const struct trace *trace);

/* Whether the rank of this index is one of these. */
bool straggler_has(const struct straggler *straggler, uint32_t index);
/* Whether a finding of RULE, a FINDING_RULE_… number, about one of these ranks is about its reason, so that both are
 * one finding. */
bool straggler_explains(const struct straggler *straggler, unsigned rule);

/* What late ranks and slow links make other ranks wait, all zero at first. */
struct straggler_sum {
    int64_t late, linked; /* ns */
    bool own;             /* the rank that is asked about is a late one */
    bool imbalance;       /* a finding says that a stage of the pipeline makes the others wait */
};
void straggler_sum_add(struct straggler_sum *sum, const struct straggler *straggler, uint32_t rank);
/* What is left of COST, the exposed communication of RANK, without that, and without waiting for other stages of a
 * pipeline. All of it where there is nothing of these. */
int64_t straggler_rest(const struct straggler_sum *sum, const struct rank *rank, int64_t cost);
/* "Communication that nothing hides takes 0.3 of 25 ms of a step, once … are taken out" */
void straggler_say_rest(char *text, size_t size, const struct rank *rank, int64_t rest);

/* straggler_words.c: set its text and advice. The first returns 0, or -1: no memory. */
struct slow_link;
int straggler_describe(struct straggler *straggler, const struct ranks *ranks);
void straggler_describe_link(struct straggler *straggler, const struct ranks *ranks, const struct slow_link *link);

typedef int straggler_each(void *context, const struct straggler *straggler);

/* Calls EACH for all ranks that work longer than their peers by at least LEAST ns in all, and for slow links that cost
 * as much, until it returns non-zero. Returns that, or 0, or -1: no memory. */
int stragglers_each(const struct ranks *ranks, int64_t least, straggler_each *each, void *context);

/* A pipeline of which one stage computes longer than the others. */
struct imbalance {
    int64_t cost;   /* ns by which all steps together would be shorter; 0: the stages are balanced, or there are none */
    int64_t ranks;  /* of the stage */
    uint32_t index; /* of its first rank, in ranks.items */
    int64_t steps;
    char text[FINDING_TEXT]; /* a sentence */
};

extern const char imbalance_advice[];

/* Returns 0, or -1: no memory. */
int imbalance_find(struct imbalance *imbalance, const struct ranks *ranks);

#endif
