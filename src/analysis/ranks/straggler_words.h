/*
 * A rank that others wait for, or a link that slows ranks down, and the sentences about it.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_STRAGGLER_WORDS_H
#define GPUTRACE_ANALYSIS_RANKS_STRAGGLER_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/engine/findings.h"
#include "analysis/ranks/ranks.h"

struct slow_link;

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

/* Sets the text and the advice of a late rank. Returns 0, or -1: no memory. */
int straggler_describe(struct straggler *straggler, const struct ranks *ranks);
/* Sets the text and the advice of a slow link. */
void straggler_describe_link(struct straggler *straggler, const struct ranks *ranks, const struct slow_link *link);

/* Writes "Communication that nothing hides takes 0.3 of 25 ms of a step, once … are taken out". */
void straggler_write_rest(char *text, size_t size, const struct rank *rank, int64_t rest);

#endif
