/*
 * A pipeline of which one stage computes longer than the others. Of a trace and of a job.
 */
#ifndef GPUTRACE_ANALYSIS_FINDINGS_IMBALANCE_H
#define GPUTRACE_ANALYSIS_FINDINGS_IMBALANCE_H

#include <stdint.h>

#include "analysis/findings/findings.h"
#include "analysis/ranks/ranks.h"

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
