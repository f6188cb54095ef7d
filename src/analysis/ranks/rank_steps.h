/*
 * The steps of the ranks of a trace or of a job: how long each took, and how long it communicated and waited in it. A
 * rank has RANK_STEPS_MOST items at most: of more steps, several that follow one another are one item.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_RANK_STEPS_H
#define GPUTRACE_ANALYSIS_RANKS_RANK_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/idle/idle.h"
#include "analysis/steps/steps.h"

#define RANK_STEPS_MOST 256

/* Causes of idle time, in groups.
 *   constant  for people */
#define RANK_STEP_CAUSES(X)                                 \
    X(OUTSIDE, "Idle: host outside CUDA")                   \
    X(CALLS, "Idle: host in CUDA calls that do not launch") \
    X(LAUNCH, "Idle: waiting for launches")                 \
    X(QUEUED, "Idle: work was queued")                      \
    X(OTHER, "Idle: other causes")

enum rank_step_cause {
#define CAUSE(constant, text) RANK_STEP_##constant,
    RANK_STEP_CAUSES(CAUSE)
#undef CAUSE
        RANK_STEP_CAUSE_COUNT
};

/* Times are ns. */
struct rank_step {
    uint32_t rank;         /* index in ranks.items */
    uint32_t first, count; /* the number of the first step, from 0 in each rank; how many */
    uint32_t width;        /* a power of two: `count` of all items of the rank but the last; `first` is a multiple */
    int64_t from, to;      /* when the first began and the last ended on the host */
    int64_t total;         /* how long all of them took */
    int64_t gpu;           /* of GPU operations that they launched, communication too */
    int64_t communication; /* of operations that they launched */
    int64_t waited;        /* of it: for ranks that began an operation later */
    int64_t idle[RANK_STEP_CAUSE_COUNT]; /* of its GPUs, from when the first began to when the last ended */
};

/* By rank and time. All zero is empty. */
struct rank_steps {
    struct rank_step *items;
    size_t count, capacity;
};

void rank_steps_release(struct rank_steps *steps);

/* Adds the steps of PROCESS as those of RANK, which comes after all that have been added; a rank that has steps keeps
 * them. Returns 0, or -1: no memory. */
int rank_steps_add(struct rank_steps *steps, uint32_t rank, const struct steps_process *process);

/* Adds an operation that took DURATION and waited for others for WAITED of it to the step in which it was called, at
 * TIME. One outside of all steps counts nowhere. Returns whether it counts. */
bool rank_steps_add_operation(struct rank_steps *steps, uint32_t rank, int64_t time, int64_t duration, int64_t waited);

/* When the first step of RANK begins; INT64_MIN: it has none. */
int64_t rank_steps_begin(const struct rank_steps *steps, uint32_t rank);

/* Adds idle time of a GPU of RANK to the steps in which it was. */
void rank_steps_add_idle(struct rank_steps *steps, uint32_t rank, const struct idle_interval *interval);

/* Whether an item that was read from a file is as this header says, for ranks below RANKS; its times are not looked
 * at. */
bool rank_step_is_good(const struct rank_step *step, size_t ranks);

#endif
