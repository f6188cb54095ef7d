/*
 * The clocks of a job's hosts, from the operations that their ranks did together.
 *
 * No rank leaves an operation before the last rank that it waits for has entered it. So one operation of hosts A and B
 * bounds how far B's clock is ahead of A's: at least (B's last entry - A's first leave), at most (B's first leave - A's
 * last entry). Many of them, over the run, leave a small region of straight lines, offset and drift, that contradict
 * none (analysis/job/clock_pair.h). The clock is the middle of this region; where the ends of operations that all
 * wait for all agree far better than that, as those of a host that is always late do, it is the line of the region that
 * fits them best. Its uncertainty is the distance to the farthest line of the region, or, if that is more, by how much
 * operations may have ended beside the line. Hosts without a common operation are joined through others, by those pairs
 * that are known best.
 *
 *     job_clocks_init(&clocks, hosts);                   // hosts have numbers from 0: 0 is that of rank 0
 *     for each operation that was matched (communicator and sequence, or a send and its receive), in any order:
 *         job_clocks_begin(&clocks);
 *         job_clocks_member(&clocks, &member) for each rank of it
 *         job_clocks_end(&clocks)
 *     job_clocks_solve(&clocks);
 *     time = job_clock_correct(&clocks.items[host], time);
 *     job_clocks_release(&clocks);
 *
 * Ranks of one host have one clock. An operation of one host alone says nothing and is ignored. Memory is bounded:
 * about JOB_CLOCK_BYTES, and 150 bytes for each host. Time is linear in the members; the end takes some 100 us for each
 * pair of hosts that was seen. An operation of many hosts counts as pairs of the first of them and each other.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_JOB_CLOCKS_H
#define GPUTRACE_ANALYSIS_JOB_JOB_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/job/clock_pair.h"
#include "common/array.h"
#include "common/map.h"
#include "trace/event_fields.h"

struct buffer;

#define JOB_CLOCK_BYTES ((size_t)64 << 20)   /* the most memory for all pairs of hosts */
#define JOB_CLOCK_BUCKETS ((size_t)256)      /* the most buckets of a pair, each a stretch of time */
#define JOB_CLOCK_BUCKETS_LEAST ((size_t)16) /* the most buckets of a pair if there are many pairs */

/* The roles of a rank in an operation. A rank that RECEIVES leaves after each rank that SENDS has entered. */
enum { JOB_CLOCK_SENDS = 1, JOB_CLOCK_RECEIVES = 2 };

/* A rank in an operation. */
struct job_clock_member {
    uint32_t host;
    unsigned roles;       /* JOB_CLOCK_SENDS | JOB_CLOCK_RECEIVES */
    int64_t enter, leave; /* ns of the host's clock: of the kernel, or of the call where no GPU does it */
};

enum job_clock_state {
    JOB_CLOCK_REFERENCE,    /* host 0: the times of all others become its times */
    JOB_CLOCK_KNOWN,        /* found, and applied */
    JOB_CLOCK_NO_EVIDENCE,  /* no operation joins it to host 0: nothing is shifted */
    JOB_CLOCK_CONTRADICTING /* operations contradict each other: nothing is shifted */
};

/* The clock of a host against that of host 0. Offset and drift are 0 if they are not known. */
struct job_clock {
    enum job_clock_state state;
    int64_t origin;         /* the time of the first operation on this clock */
    int64_t offset_ns;      /* how far this clock is ahead at `origin` */
    double drift_ppm;       /* how many in a million of this clock's ticks are too many */
    double uncertainty_ns;  /* the largest error from `first` to `last` */
    double uncertainty_ppm; /* how fast the error may grow before and after that */
    int64_t first, last;    /* on this clock: the operations from which it is known */
    uint32_t through;       /* the host by which it is joined to host 0; of host 0, 0 */
    uint32_t steps;         /* pairs of hosts that its offset is the sum of; 1: from operations with host 0 */
    uint64_t operations;    /* with the host `through` */
    uint64_t bounds;        /* that were kept of these operations */
    uint64_t outliers;      /* bounds that were left out because they contradict the others */
};

struct job_clocks {
    ARRAY(struct job_clock) items; /* of each host; after job_clocks_solve() */
    uint64_t operations;           /* of more than one host */
    uint64_t left_out;             /* times a pair of hosts was left out because there are too many pairs */

    struct clock_host *hosts;
    uint32_t host_count;
    struct dense_map pair_ids; /* a << 32 | b, a < b -> pairs */
    ARRAY(struct clock_pair) pairs;
    size_t buckets;                    /* of a pair at most */
    ARRAY(struct clock_entry) entries; /* of the operation at hand: one for each host */
};

/* A host while operations are added. */
struct clock_host {
    bool seen;
    int64_t origin, last; /* its first time, to which its times are relative, and its latest time */
    uint32_t entry;       /* index in `entries` + 1; 0: it has none */
    uint32_t joined;      /* a host to which pairs join it; itself: it stands for all hosts that are joined to it */
};

/* Returns 0, or -1 after error(): no memory. Either way it is to be released. */
int job_clocks_init(struct job_clocks *clocks, uint32_t hosts);
void job_clocks_release(struct job_clocks *clocks);

/* One operation after another, and the members of its ranks in any order. A member with roles 0, or that leaves before
 * it enters, is ignored. Return 0, or -1 after error(): no memory. */
void job_clocks_begin(struct job_clocks *clocks);
int job_clocks_member(struct job_clocks *clocks, const struct job_clock_member *member);
int job_clocks_end(struct job_clocks *clocks);

/* After the last operation: makes `items`. Returns 0, or -1 after error(): no memory. */
int job_clocks_solve(struct job_clocks *clocks);

/* TIME of this clock as a time of host 0. FIELD_ABSENT: it is not known, or beyond what 64 bits hold. */
static inline int64_t job_clock_correct(const struct job_clock *clock, int64_t time)
{
    int64_t since, corrected;
    if (time == FIELD_ABSENT || __builtin_sub_overflow(time, clock->origin, &since) ||
        __builtin_sub_overflow(time, clock->offset_ns, &corrected) ||
        __builtin_sub_overflow(corrected, (int64_t)((double)since * clock->drift_ppm * 1e-6), &corrected))
        return FIELD_ABSENT;
    return corrected;
}

/* How far a corrected TIME (of this clock) may be from the truth, ns; of a clock that is not known, 0. */
double job_clock_uncertainty(const struct job_clock *clock, int64_t time);

/* The roles in an operation by Kineto's, NCCL's or MPI's name of it ("allreduce", "_allgather_base", "ncclAllReduce",
 * "MPI_Bcast", "send"); ROOT: the rank is the operation's root. 0: the name is not known, or such an operation does not
 * wait for certain: one that returns at once, or whose ranks may have no data for each other. */
unsigned job_clock_roles(const char *operation, bool root);

/* Writes the state of a clock by the host's system, as a clause for a clock that is not corrected: "its system says
 * that it is synchronised, wrong by at most 2.1 ms". Numbers as in a struct trace_clock; nothing if they are not known.
 */
void job_clock_describe_system(struct buffer *text, int64_t synchronised, int64_t error_us);

/* Writes a sentence on the clock of HOST without a full stop, "clock of node7: 12.345 ms ahead of node0, drift +3.2
 * ppm; corrected, ± 14 us (5123 operations)", or why nothing is shifted. It is what report and merge print. */
void job_clock_describe(struct buffer *text, const struct job_clock *clock, const char *host, const char *reference);

#endif
