/*
 * Which of several rows a slice goes to, so that in each row slices nest, or follow one another.
 *
 * Most rows need one lane only. So work comes in two steps: lanes_see() watches all slices go by in the order of the
 * records and remembers nothing as long as it can tell that one lane does; otherwise `collecting` is set, and
 * lanes_collect() is told all slices a second time, lanes_assign() sorts them, and lanes_take() tells each its lane.
 * Several threads can watch a piece of the row each; lanes_append() puts together what they saw.
 */
#ifndef GPUTRACE_TRACE_LANES_H
#define GPUTRACE_TRACE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/file_vector.h"

enum lanes_rule {
    LANES_NEST,   /* slices of a lane are apart, or one lies within the other */
    LANES_FOLLOW, /* slices of a lane are apart; the owner of a slice is who takes its lane, and nobody else does */
    LANES_OWN,    /* as LANES_NEST, but within a slice lie slices of the same owner alone */
};

struct lanes_span {
    uint64_t start, end; /* ns */
    uint32_t owner;      /* of LANES_OWN: a thread; of LANES_FOLLOW: a part of the spool; else 0 */
    uint32_t lane : 31;
    uint32_t taken : 1;
};

#define LANES_RECENT 4

struct lanes {
    enum lanes_rule rule;
    bool collecting;
    uint32_t count; /* of lanes, after lanes_assign(); at least 1 */
    /* Watching, which LANES_OWN does not: the last slices that no other one encloses so far, in order, and the end of
     * all before them, 0: there are none; the first of them all, once it is among those; and the earliest start of all
     * slices but that first. */
    struct lanes_recent {
        uint64_t start, end;
    } recent[LANES_RECENT];
    unsigned recent_count;
    uint64_t forgotten_end;
    struct lanes_recent first;
    uint64_t others_start;
    /* Collecting; then only spans of lanes beyond the first, by start and end. */
    FILE_VECTOR(struct lanes_span) spans;
};

void lanes_init(struct lanes *lanes, enum lanes_rule rule);
void lanes_release(struct lanes *lanes);

/* For rows known to need the second step. */
static inline void lanes_must_collect(struct lanes *lanes)
{
    lanes->collecting = true;
}

/* A slice, in the order in which slices end, for LANES_NEST, or begin, for LANES_FOLLOW; another order is noticed. */
void lanes_see(struct lanes *lanes, uint64_t start, uint64_t end);

/* As if LANES had then seen what MORE, of the same rule, has seen; `collecting` may be set although that would not have
 * set it, where MORE begins within more than one slice of others. LANES itself is not to be appended after that. */
void lanes_append(struct lanes *lanes, const struct lanes *more);

/* Gives 0, or -1 after error(). Does nothing unless collecting. */
int lanes_collect(struct lanes *lanes, uint64_t start, uint64_t end);
int lanes_collect_own(struct lanes *lanes, uint64_t start, uint64_t end, uint32_t owner);

int lanes_assign(struct lanes *lanes);

/* The lane of a slice that was collected, 0 when it was not. Of several equal slices each is given one of theirs.
 * Several threads may take those of different owners at once; of LANES_NEST all. */
uint32_t lanes_take(struct lanes *lanes, uint64_t start, uint64_t end);
uint32_t lanes_take_own(struct lanes *lanes, uint64_t start, uint64_t end, uint32_t owner);

#endif
