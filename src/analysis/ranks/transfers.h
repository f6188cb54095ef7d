/*
 * Transfers: the time of an operation after the last rank has entered it, which is how long it took on that rank.
 * Clocks of hosts are not compared. There is a row for each group of ranks, or sender and receiver, and size.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_TRANSFERS_H
#define GPUTRACE_ANALYSIS_RANKS_TRANSFERS_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/comm/collective.h"

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
