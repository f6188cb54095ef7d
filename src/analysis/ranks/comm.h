/*
 * Communication in sums: a row for each communicator, operation, size and type. The table of section_comm, and of the
 * report of a job.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_COMM_H
#define GPUTRACE_ANALYSIS_RANKS_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/dense_map.h"
#include "analysis/comm/collectives.h"
#include "analysis/engine/section.h"

/* Operations of one row. Texts are numbers of trace.strings. */
struct comm_key {
    uint64_t communicator, ranks, name, dtype; /* ranks: of the group; name: of operations of no known kind */
    uint64_t kind;                             /* enum collective_kind; a send and its receive are SEND */
    int64_t bytes;
};

/* Sums over all ranks of the trace or job, ns. */
struct comm_row {
    int64_t count;          /* operations */
    int64_t total;          /* of kernels, or of calls where operations have no kernels */
    int64_t wait;           /* of it before the last rank began; FIELD_ABSENT: no operation has several ranks here */
    int64_t exposed, shown; /* exposed, of the kernels of which it is known, which took SHOWN */
    int64_t timed;          /* operations of single ranks that TOTAL is of */
    int64_t alone;          /* of them, those whose kernel does nothing else */
    double shared, bus;     /* bytes of the kernels of the others, and those that cross the bus */
    int64_t unfinished;     /* likewise, without an end */
    int64_t group_size;     /* FIELD_ABSENT: not known */
    int64_t ranks;          /* that took part in one operation, at most */
};

/* All zero is empty. */
struct comm {
    struct dense_map keys;
    ARRAY(struct comm_row) rows;
};

void comm_release(struct comm *comm);

/* When an operation began on a rank, and how long it took: its kernel's times, of MPI its call's. False: not known. */
bool comm_times(const struct collective *one, int64_t *start, int64_t *duration);
/* How long that rank waited for the one that began last, at LAST; never longer than the operation took. */
int64_t comm_wait(const struct collective *one, int64_t last);
/* When the last of COUNT ranks began; FIELD_ABSENT: the times of fewer than two are known, or a rank ended an operation
 * before the last one began that no rank can end so. Then clocks are wrong, or it is not the same operation: numbers
 * that are counted from the start of a capture need not be equal on all ranks. */
int64_t comm_last_start(const struct collective *ranks, size_t count);

/* Adds an operation of COUNT ranks, one after another in RANKS, in one clock. Returns 0, or -1: no memory. */
int comm_add(struct comm *comm, const struct collective *ranks, size_t count);
/* Adds all. Returns 0, or -1: no memory, or after error(). */
int comm_gather(struct comm *comm, const struct collectives *collectives);

#define COMM_COLUMNS 15
extern const struct column comm_columns[COMM_COLUMNS];
#define COMM_SORT "total"
/* Adds the rows to ROW's table, which has these columns. */
void comm_fill(struct report_row *row, const struct comm *comm);

#endif
