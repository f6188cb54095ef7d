/*
 * Ranks that others wait for, and why: what they do longer than a typical rank; and links that slow them all down. Of a
 * trace and of a job.
 */
#ifndef GPUTRACE_ANALYSIS_FINDINGS_STRAGGLERS_H
#define GPUTRACE_ANALYSIS_FINDINGS_STRAGGLERS_H

#include <stdint.h>

#include "analysis/findings/findings.h"
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
    const struct rank *rank; /* of a link of a host the first of its ranks */
    const struct rank *late; /* the rank that is late because of it: in a pipeline another one; of a link NULL */
    uint32_t index;          /* of `rank` */
    int64_t ranks;           /* 1; of a link of a host those that it slows down */
    int64_t count;           /* operations in which it is late, or that are slow */
    int64_t cost; /* ns that it is later than a typical rank in all operations, at most what it does longer */
    enum straggler_reason reason;
    int64_t own, typical;      /* ns of what it does longer; 0 of an unknown reason */
    char text[FINDING_TEXT];   /* a sentence */
    char advice[FINDING_TEXT]; /* what to do */
};

/* Calls EACH for all ranks that are later than a typical one by at least LEAST ns in all, and for slow links that cost
 * as much, until it returns non-zero. Returns that, or 0, or -1: no memory. */
int stragglers_each(const struct ranks *ranks, int64_t least,
                    int (*each)(void *context, const struct straggler *straggler), void *context);

#endif
