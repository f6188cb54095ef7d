/*
 * Sums communication: a row for each communicator, operation, size and type, for section_comm and for the report of a
 * job.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_COMM_H
#define GPUTRACE_ANALYSIS_RANKS_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/comm/collectives.h"
#include "analysis/engine/section.h"
#include "analysis/comm/collective.h"

/* The key of a row. Texts are numbers of trace.strings. */
struct comm_key {
    uint64_t communicator, ranks, name, dtype; /* ranks: the group's ranks; name: only of kind COLLECTIVE_OTHER */
    uint64_t kind;                             /* enum collective_kind; a send and its receive are SEND */
    int64_t bytes;
};

/* A row: sums over all ranks of the trace or job. Times are ns. */
struct comm_row {
    int64_t count;          /* number of operations */
    int64_t total;          /* time of kernels, or of calls if operations have no kernels */
    int64_t wait;           /* part of TOTAL before the last rank began; FIELD_ABSENT: never known for two ranks */
    int64_t exposed, shown; /* exposed time, and the total time of the kernels for which it is known */
    int64_t timed;          /* number of kernels or calls in TOTAL, each of one rank */
    int64_t alone;          /* how many of TIMED have a kernel that does nothing else */
    double shared, bus;     /* bytes of the other kernels in TIMED, and their bytes that cross the bus */
    int64_t unfinished;     /* number of kernels or calls without an end, each of one rank */
    int64_t group_size;     /* FIELD_ABSENT: not known */
    int64_t ranks;          /* largest number of recorded ranks in an operation */
};

/* Initialise with zeros. */
struct comm {
    struct dense_map keys;
    ARRAY(struct comm_row) rows;
};

void comm_release(struct comm *comm);

/* Sets the start and the length, ns, of an operation on a rank: those of its kernel, or of its MPI call. Returns false
 * if they are unknown. */
bool comm_times(const struct collective *one, int64_t *start, int64_t *duration);
/* Returns how long a rank waited for the last rank, which began at LAST, ns: at most the length of the operation. */
int64_t comm_wait(const struct collective *one, int64_t last);
/* Returns when the last of COUNT ranks began. Returns FIELD_ABSENT if the times of fewer than two ranks are known.
 * Returns FIELD_ABSENT also if a rank ended the operation before the last rank began although all must wait: then the
 * clocks are wrong, or the operations do not belong together, because numbers counted from the start of a capture may
 * differ between ranks. */
int64_t comm_last_start(const struct collective *ranks, size_t count);

/* Adds an operation of COUNT ranks, whose times are on one clock. Returns 0, or -1: no memory. */
int comm_add(struct comm *comm, const struct collective *ranks, size_t count);
/* Adds all operations of COLLECTIVES. Returns 0, or -1: no memory, or after error(). */
int comm_gather(struct comm *comm, const struct collectives *collectives);

#define COMM_COLUMNS 15
extern const struct column comm_columns[COMM_COLUMNS];
#define COMM_SORT "total"
/* Adds a row for each row of COMM to ROW's table, whose columns are comm_columns. */
void comm_fill(struct report_row *row, const struct comm *comm);

struct transfer_key {
    uint64_t communicator, group_ranks, pair; /* texts; pair: sender << 32 | receiver of a send, else 0 */
    uint64_t kind;                            /* enum collective_kind; a send and its receive are SEND */
    int64_t bytes, group_size;
};

/* Sums operations of one key whose kernels do nothing else and are known on all ranks. */
struct transfer_row {
    size_t first_member, member_count; /* a range of transfers.members */
    int64_t count;                     /* operations */
    double log_sum;                    /* sum of ln(ns) of the operations, so that a few outliers matter little */
    int64_t exposed;                   /* sum over the operations of the longest exposed time of a rank, ns */
    int64_t unexposed_count;           /* number of operations without a known exposed time */
};

/* Initialise with zeros. */
struct transfers {
    struct dense_map keys; /* struct transfer_key */
    ARRAY(struct transfer_row) rows;
    ARRAY(uint32_t) members; /* indices in ranks.items */
};

void transfers_release(struct transfers *transfers);

/* Adds an operation of COUNT ranks. INDEX has the index of each rank, which is below RANKS if the rank is known.
 * Returns 0, or -1: no memory. */
int transfers_add(struct transfers *transfers, const struct collective *operation, const uint32_t *index, size_t count,
                  size_t ranks);

#endif
