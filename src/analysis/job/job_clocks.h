/*
 * Derives the clocks of a job's hosts from the operations that their ranks did together.
 *
 * No rank leaves an operation before the last rank that it waits for has entered it. So one operation of hosts A and B
 * bounds how far B's clock is ahead of A's: at least (B's last entry - A's first leave), at most (B's first leave - A's
 * last entry). Many of them, over the run, leave a small region of straight lines, offset and drift, that contradict
 * none (analysis/job/clock_pair.h). The clock is the middle of this region. If one host is always late, its region is
 * wide, although operations in which all wait for all end at the same time on both hosts: then the clock is the line of
 * the region that fits these ends best. The uncertainty is the distance to the farthest line of the region, or the
 * largest distance of such an end from the clock if that is more. Hosts without a common operation are joined through
 * other hosts, by the pairs with the least uncertainty.
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
 * Ranks of one host have one clock. An operation within one host is ignored. Memory is bounded: about JOB_CLOCK_BYTES,
 * and 150 bytes for each host. Time is linear in the members; job_clocks_solve() takes some 100 us for each pair of
 * hosts. An operation of many hosts adds pairs of its first host and each of the other hosts.
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

#define JOB_CLOCK_BYTES ((size_t)64 << 20)   /* limit for all pairs of hosts together */
#define JOB_CLOCK_BUCKETS ((size_t)256)      /* limit for a pair, each a stretch of time */
#define JOB_CLOCK_BUCKETS_LEAST ((size_t)16) /* limit for a pair if there are many pairs */

/* The roles of a rank in an operation. A rank that RECEIVES leaves after each rank that SENDS has entered. */
enum { JOB_CLOCK_SENDS = 1, JOB_CLOCK_RECEIVES = 2 };

/* A rank in an operation. */
struct job_clock_member {
    uint32_t host;
    unsigned roles;       /* JOB_CLOCK_SENDS | JOB_CLOCK_RECEIVES */
    int64_t enter, leave; /* ns of the host's clock: of the kernel, or of the call if there is no kernel */
};

enum job_clock_state {
    JOB_CLOCK_REFERENCE,    /* host 0: the times of all other hosts are translated to its clock */
    JOB_CLOCK_KNOWN,        /* derived, and applied */
    JOB_CLOCK_NO_EVIDENCE,  /* no operation joins the host to host 0: its times stay as they are */
    JOB_CLOCK_CONTRADICTING /* operations contradict each other: its times stay as they are */
};

/* The clock of a host against that of host 0. Unknown offsets and drifts are 0. */
struct job_clock {
    enum job_clock_state state;
    int64_t origin;         /* the time of the first operation on this clock */
    int64_t offset_ns;      /* how far this clock is ahead of host 0's at `origin` */
    double drift_ppm;       /* superfluous ticks of this clock in a million */
    double uncertainty_ns;  /* the largest error from `first` to `last` */
    double uncertainty_ppm; /* growth of the error before `first` and after `last` */
    int64_t first, last;    /* times of the first and the last operation that it was derived from */
    uint32_t through;       /* the host by which it is joined to host 0; 0 for host 0 */
    uint32_t steps;         /* number of pairs whose offsets were added; 1: operations with host 0 */
    uint64_t operations;    /* common operations with the host `through` */
    uint64_t bounds;        /* bounds that were kept of these operations */
    uint64_t outliers;      /* bounds that were left out because they contradict the others */
};

struct job_clocks {
    ARRAY(struct job_clock) items; /* by host; set by job_clocks_solve() */
    uint64_t operations;           /* number of operations of more than one host */
    uint64_t left_out;             /* times a pair of hosts was left out because there are too many pairs */

    struct clock_host *hosts;
    uint32_t host_count;
    struct dense_map pair_ids; /* a << 32 | b, a < b -> pairs */
    ARRAY(struct clock_pair) pairs;
    size_t buckets;                    /* limit for a pair */
    ARRAY(struct clock_entry) entries; /* hosts of the operation at hand */
};

/* The state of a host while operations are added. */
struct clock_host {
    bool seen;
    int64_t origin, last; /* its first time, to which its times are relative, and its latest time */
    uint32_t entry;       /* index in `entries` + 1; 0: none */
    uint32_t joined;      /* union-find: a host that pairs join to this one; itself: the root of the set */
};

/* Prepares for HOSTS hosts. Returns 0, or -1 after error(): no memory. CLOCKS must be released in both cases. */
int job_clocks_init(struct job_clocks *clocks, uint32_t hosts);
void job_clocks_release(struct job_clocks *clocks);

/* Add one operation after another, and its members in any order. A member with roles 0, or that leaves before it
 * enters, is ignored. Return 0, or -1 after error(): no memory. */
void job_clocks_begin(struct job_clocks *clocks);
int job_clocks_member(struct job_clocks *clocks, const struct job_clock_member *member);
int job_clocks_end(struct job_clocks *clocks);

/* Sets `items`. Call it after the last operation. Returns 0, or -1 after error(): no memory. */
int job_clocks_solve(struct job_clocks *clocks);

/* Translates TIME of this clock to host 0's clock. Returns FIELD_ABSENT if TIME is, or if the result needs more than 64
 * bits. */
static inline int64_t job_clock_correct(const struct job_clock *clock, int64_t time)
{
    int64_t since, corrected;
    if (time == FIELD_ABSENT || __builtin_sub_overflow(time, clock->origin, &since) ||
        __builtin_sub_overflow(time, clock->offset_ns, &corrected) ||
        __builtin_sub_overflow(corrected, (int64_t)((double)since * clock->drift_ppm * 1e-6), &corrected))
        return FIELD_ABSENT;
    return corrected;
}

/* Returns the largest error in ns of job_clock_correct(clock, TIME), or 0 if the clock is not corrected. */
double job_clock_uncertainty(const struct job_clock *clock, int64_t time);

/* Returns the roles of a rank in an operation. OPERATION is the name in Kineto, NCCL or MPI ("allreduce",
 * "_allgather_base", "ncclAllReduce", "MPI_Bcast", "send"); ROOT: the rank is the operation's root. Returns 0 if the
 * name is unknown, or if ranks of such an operation may not wait: it returns at once, or may have no data for some
 * ranks. */
unsigned job_clock_roles(const char *operation, bool root);

/* Writes what the host's system says about its clock, as a clause for a clock that is not corrected: "its system says
 * that it is synchronised, wrong by at most 2.1 ms". Numbers are as in struct trace_clock. Writes nothing if they are
 * unknown. */
void job_clock_describe_system(struct buffer *text, int64_t synchronised, int64_t error_us);

/* Writes a sentence about the clock of HOST without a full stop, "clock of node7: 12.345 ms ahead of node0, drift +3.2
 * ppm; corrected, ± 14 us (5123 operations)", or why its times are not shifted. The report and merge print it. */
void job_clock_describe(struct buffer *text, const struct job_clock *clock, const char *host, const char *reference);

#endif
