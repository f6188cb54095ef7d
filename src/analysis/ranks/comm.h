/*
 * Sums of communication: a row for each communicator, operation, size and type, for section_comm and for the report of
 * a job.
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

/* Operations of one row. Texts are numbers of trace.strings. */
struct comm_key {
    uint64_t communicator, ranks, name, dtype; /* ranks: of the group; name: of operations of no known kind */
    uint64_t kind;                             /* enum collective_kind; a send and its receive are SEND */
    int64_t bytes;
};

/* Sums over all ranks of the trace or job, ns. */
struct comm_row {
    int64_t count; /* operations */
    int64_t total; /* of kernels, or of calls where operations have no kernels */
    int64_t wait;  /* of TOTAL, before the last rank began; FIELD_ABSENT: no operation has several ranks here */
    int64_t exposed, shown; /* exposed time, known for kernels that took SHOWN */
    int64_t timed;          /* operations of single ranks that are in TOTAL */
    int64_t alone;          /* of TIMED, those whose kernel does nothing else */
    double shared, bus;     /* bytes of all other kernels, and those that cross the bus */
    int64_t unfinished;     /* operations of single ranks without an end */
    int64_t group_size;     /* FIELD_ABSENT: not known */
    int64_t ranks;          /* the most ranks that took part in an operation */
};

/* All zero is empty. */
struct comm {
    struct dense_map keys;
    ARRAY(struct comm_row) rows;
};

void comm_release(struct comm *comm);

/* Sets when an operation began on a rank, and how long it took: the times of its kernel, or of its call of MPI. Returns
 * false if they are not known. */
bool comm_times(const struct collective *one, int64_t *start, int64_t *duration);
/* How long a rank waited for the one that began last, at LAST: at most the time of the operation. */
int64_t comm_wait(const struct collective *one, int64_t last);
/* When the last of COUNT ranks began. Returns FIELD_ABSENT if the times of fewer than two ranks are known, or if a rank
 * ended the operation before the last one began although all must wait: then clocks are wrong, or the operations are
 * not the same, because numbers counted from the start of a capture may differ between ranks. */
int64_t comm_last_start(const struct collective *ranks, size_t count);

/* Adds an operation of COUNT ranks, whose times are of one clock. Returns 0, or -1: no memory. */
int comm_add(struct comm *comm, const struct collective *ranks, size_t count);
/* Adds all operations. Returns 0, or -1: no memory, or after error(). */
int comm_gather(struct comm *comm, const struct collectives *collectives);

#define COMM_COLUMNS 15
extern const struct column comm_columns[COMM_COLUMNS];
#define COMM_SORT "total"
/* Adds the rows to ROW's table, which has comm_columns. */
void comm_fill(struct report_row *row, const struct comm *comm);

struct transfer_key {
    uint64_t communicator, group_ranks, pair; /* texts; pair: sender and receiver of a send, else 0 */
    uint64_t kind;                            /* enum collective_kind; a send and its receive are SEND */
    int64_t bytes, group_size;
};

/* Operations of one key, each with a kernel of its own and known on all ranks. */
struct transfer_row {
    size_t first_member, member_count; /* in transfers.members */
    int64_t count;                     /* operations */
    double log_sum;          /* sum of the natural logarithms of their ns, so that a few outliers matter little */
    int64_t exposed;         /* ns in which the rank computed nothing that did so longest, summed over the operations */
    int64_t unexposed_count; /* operations whose exposed time is not known */
};

/* All zero is empty. */
struct transfers {
    struct dense_map keys; /* struct transfer_key */
    ARRAY(struct transfer_row) rows;
    ARRAY(uint32_t) members; /* indices of ranks */
};

void transfers_release(struct transfers *transfers);

/* Adds an operation of COUNT ranks. INDEX: the index of each rank, below RANKS if it is known. Returns 0, or -1: no
 * memory. */
int transfers_add(struct transfers *transfers, const struct collective *operation, const uint32_t *index, size_t count,
                  size_t ranks);

/* The geometric mean of the operations of a row; ns. */
double transfer_time(const struct transfer_row *row);

#endif
