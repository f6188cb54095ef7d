/*
 * Which ranks send to which: a row for each two ranks and direction.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_NEIGHBOURS_H
#define GPUTRACE_ANALYSIS_RANKS_NEIGHBOURS_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/dense_map.h"
#include "analysis/model/collective.h"

struct neighbour_key {
    uint64_t from, to; /* indices of ranks */
};

struct neighbour_row {
    int64_t count; /* operations */
    int64_t alone; /* of them: with a kernel of their own, so that no other direction is in it */
    int64_t first; /* when the first began on the sender, ns */
};

/* All zero is empty. */
struct neighbours {
    struct dense_map keys; /* struct neighbour_key */
    ARRAY(struct neighbour_row) rows;
};

void neighbours_release(struct neighbours *neighbours);

/* Adds a send and its receive, in one clock. INDEX: of both ranks, below RANKS if it is known. Other operations are
 * left out. Returns 0, or -1: no memory. */
int neighbours_add(struct neighbours *neighbours, const struct collective *operation, const uint32_t *index,
                   size_t count, size_t ranks);

/* NULL: none. */
const struct neighbour_row *neighbours_find(const struct neighbours *neighbours, uint32_t from, uint32_t to);

#endif
