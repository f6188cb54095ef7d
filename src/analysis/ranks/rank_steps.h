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
    uint32_t rank;                       /* index in ranks.items */
    uint32_t first, count;               /* the number of its first step, from 0 in each rank; the number of steps */
    uint32_t width;                      /* a power of two: the steps of an item, except the last of the rank */
    int64_t from, to;                    /* from the start of its first to the end of its last step on the host */
    int64_t total;                       /* time of all its steps */
    int64_t gpu;                         /* of GPU operations that they launched, communication too */
    int64_t communication;               /* of operations that they launched */
    int64_t waited;                      /* of `communication`: for ranks that began an operation later */
    int64_t idle[RANK_STEP_CAUSE_COUNT]; /* of its GPUs, between `from` and `to` */
};

/* By rank and time. All zero is empty. */
struct rank_steps {
    struct rank_step *items;
    size_t count, capacity;
};

void rank_steps_release(struct rank_steps *steps);

/* Adds the steps of PROCESS to RANK, which is not below the ranks added before. If RANK has steps already, nothing is
 * added. Returns 0, or -1: no memory. */
int rank_steps_add(struct rank_steps *steps, uint32_t rank, const struct steps_process *process);

/* Adds an operation that took DURATION, and WAITED of it for others, to the step in which it was called at TIME.
 * Returns false if there is no such step. */
bool rank_steps_add_operation(struct rank_steps *steps, uint32_t rank, int64_t time, int64_t duration, int64_t waited);

/* When the first step of RANK begins; INT64_MIN if it has none. */
int64_t rank_steps_begin(const struct rank_steps *steps, uint32_t rank);

/* Adds idle time of a GPU of RANK to the steps in which it was. */
void rank_steps_add_idle(struct rank_steps *steps, uint32_t rank, const struct idle_interval *interval);

/* Whether an item that was read from a file is valid for RANKS ranks. Its times are not checked. */
bool rank_step_is_good(const struct rank_step *step, size_t ranks);

#endif
