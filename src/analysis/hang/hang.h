/*
 * Why a job stands still: for each communicator, the first operation that ranks entered and did not finish, who waits
 * in it, who never entered it, and who entered another operation or another size instead.
 *
 *     hang_fronts_member() for each rank, with what it did at the end; hang_fronts_operation() for all operations;
 *     hangs_finish(); then hangs.items.
 *
 * Times are ns, each of the clock of its rank.
 */
#ifndef GPUTRACE_ANALYSIS_HANG_HANG_H
#define GPUTRACE_ANALYSIS_HANG_HANG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "analysis/hang/hang_fronts.h"

/* A process that was last seen so much earlier than another one had ended before it. Processes that live are seen every
 * 200 ms, unless the driver blocks. */
#define HANG_GONE_NS INT64_C(2000000000)

enum hang_role {
    HANG_WAITS,   /* it entered the operation and did not finish it */
    HANG_PASSED,  /* it finished it */
    HANG_OTHER,   /* it entered another operation, size or root with the same number */
    HANG_MISSING, /* it never entered it */
};

/* What a rank does in a hang. */
struct hang_rank {
    uint32_t member; /* index in hangs.members */
    enum hang_role role;
    bool entered;             /* `own` is known */
    struct collective own;    /* the operation that it entered; for HANG_MISSING the last one */
    bool is_gone;             /* its process had ended before */
    uint32_t waits_elsewhere; /* HANG_MISSING: index + 1 in hangs.items of the hang that it waits in; 0: none */
    bool behind;              /* HANG_WAITS: its GPU runs something else that was launched before */
};

/* An operation that stands still. */
struct hang {
    uint32_t init;          /* the name of the call that makes a communicator, in fronts.texts; else EVENT_NO_TEXT */
    struct collective what; /* the operation as most waiting ranks entered it; unknown if `init` is set */
    size_t first_rank, rank_count; /* in hangs.ranks, by rank */
    size_t counts[HANG_MISSING + 1];
    int64_t unknown;            /* ranks of the communicator that the traces do not have */
    bool any_finished;          /* all ranks finished an operation of this communicator */
    struct collective finished; /* the last operation that all ranks finished */
    int64_t since, waited;      /* when the longest wait began, and how long it is */
    bool differs;               /* an earlier operation was not the same on two ranks, ONE and OTHER */
    struct collective one, other;
    bool follows; /* the missing ranks wait in another hang */
};

/* All zero but `fronts.strings` is empty. */
struct hangs {
    struct hang_fronts fronts;
    int64_t origin; /* the time that is shown as 0 */
    ARRAY(struct hang_rank) ranks;
    ARRAY(struct hang) items; /* `follows`: another hang is the cause */
};

void hangs_release(struct hangs *hangs);

/* Fills items and ranks, after the last operation. Returns 0, or -1: no memory. */
int hangs_finish(struct hangs *hangs);

static inline const struct hang_rank *hang_ranks(const struct hangs *hangs, const struct hang *hang)
{
    return hangs->ranks.items + hang->first_rank;
}

#endif
