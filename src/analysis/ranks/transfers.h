/*
 * The transfer part of communication: what is left of an operation after the last rank has entered it. A row for each
 * group of ranks, or sender and receiver, and size of the operation.
 * It is the time that the operation took on the rank that entered last. No clocks of different hosts are compared.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_TRANSFERS_H
#define GPUTRACE_ANALYSIS_RANKS_TRANSFERS_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/dense_map.h"
#include "analysis/comm/collective.h"

struct transfer_key {
    uint64_t communicator, group_ranks, pair; /* texts; pair: of a send its sender and receiver, else 0 */
    uint64_t kind;                            /* enum collective_kind; a send and its receive are SEND */
    int64_t bytes, group_size;
};

/* Operations whose kernel did others, too, or of which not all ranks are known, are not among them. */
struct transfer_row {
    size_t first_member, member_count; /* in transfers.members */
    int64_t count;                     /* operations */
    double log_sum;                    /* of the natural logarithms of their ns, so that few outliers matter little */
    int64_t exposed;                   /* ns in which the rank with most of it computed nothing, of all operations */
    int64_t unexposed_count;           /* operations of which that is not known */
};

/* All zero is empty. */
struct transfers {
    struct dense_map keys; /* struct transfer_key */
    ARRAY(struct transfer_row) rows;
    ARRAY(uint32_t) members; /* indices of ranks */
};

void transfers_release(struct transfers *transfers);

/* Adds an operation of COUNT ranks, in one clock. INDEX: the index of each, below RANKS if it is known. Returns 0, or
 * -1: no memory. */
int transfers_add(struct transfers *transfers, const struct collective *operation, const uint32_t *index, size_t count,
                  size_t ranks);

/* A typical operation of a row, ns: the geometric mean. */
double transfer_time(const struct transfer_row *row);

#endif
