/*
 * Finds why a job hangs. A hang is the first operation of a communicator that ranks entered and did not finish. The
 * ranks of the communicator wait in it, never entered it, or entered another operation or size instead.
 *
 *     hang_fronts_member() for each rank, with what it did at the end; hang_fronts_operation() for all operations;
 *     hangs_finish(); then hangs.items.
 *
 * Times are ns of the clock of the rank that they belong to.
 */
#ifndef GPUTRACE_ANALYSIS_HANG_HANG_H
#define GPUTRACE_ANALYSIS_HANG_HANG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "analysis/hang/hang_fronts.h"

/* A process had already ended if it was last seen this many ns earlier than another one. Running processes are seen
 * every 200 ms, unless the driver blocks. */
#define HANG_GONE_NS INT64_C(2000000000)

enum hang_role {
    HANG_WAITS,   /* the rank entered the operation and did not finish it */
    HANG_PASSED,  /* the rank finished the operation */
    HANG_OTHER,   /* the rank entered another operation, size or root under this number */
    HANG_MISSING, /* the rank never entered the operation */
};

/* The role of a rank in a hang. */
struct hang_rank {
    uint32_t member; /* index in hangs.members */
    enum hang_role role;
    bool entered;             /* `own` is set */
    struct collective own;    /* the operation that the rank entered; HANG_MISSING: its last operation */
    bool is_gone;             /* its process ended before the waiting processes did */
    uint32_t waits_elsewhere; /* HANG_MISSING: index + 1 in hangs.items of the hang in which the rank waits; 0: none */
    bool behind;              /* HANG_WAITS: its GPU still runs an operation that was launched before this one */
};

/* An operation that hangs. */
struct hang {
    uint32_t init; /* the call that hangs while it creates a communicator, in fronts.texts; else EVENT_NO_TEXT */
    struct collective what;        /* the operation as most waiting ranks entered it; unknown if `init` is set */
    size_t first_rank, rank_count; /* a range of hangs.ranks, sorted by rank */
    size_t counts[HANG_MISSING + 1];
    int64_t unknown;            /* number of ranks of the communicator that no trace has */
    bool any_finished;          /* `finished` is set */
    struct collective finished; /* the last operation that all ranks finished */
    int64_t since, waited;      /* start and length of the longest wait */
    bool differs;               /* `one` and `other` are set: two ranks disagree on an earlier operation */
    struct collective one, other;
    bool follows; /* the missing ranks wait in another hang */
};

/* Initialise with zeros and `fronts.strings`. */
struct hangs {
    struct hang_fronts fronts;
    int64_t origin; /* the time that is shown as 0 */
    ARRAY(struct hang_rank) ranks;
    ARRAY(struct hang) items;
};

void hangs_release(struct hangs *hangs);

/* Fills `items` and `ranks`. Call it after the last operation. Returns 0, or -1: no memory. */
int hangs_finish(struct hangs *hangs);

static inline const struct hang_rank *hang_ranks(const struct hangs *hangs, const struct hang *hang)
{
    return hangs->ranks.items + hang->first_rank;
}

#endif
