/*
 * The steps of a program: what it does again and again. They are, in each process,
 *  - the ranges ProfilerStep#N, where there is one,
 *  - else the ranges of one thread whose names are equal up to a number at the end ("step 7"), at least STEPS_LEAST of
 *    them, which do not overlap and launch the most GPU operations; of those that launch about as many, the outermost.
 *    Ranges that take and launch little of what is between the first and the last of them are parts of a step and are
 *    left out here, as those are in which PyTorch's optimizers do not run although the process has some,
 *  - else the times from one range of PyTorch's optimizers ("Optimizer.step#SGD.step") to the next,
 *  - else the periods of the sequence of GPU operations that one thread launches,
 *  - else the times from one of the ranges that are parts to the next.
 */
#ifndef GPUTRACE_ANALYSIS_STEPS_STEPS_H
#define GPUTRACE_ANALYSIS_STEPS_STEPS_H

#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/base/series.h"
#include "analysis/engine/trace.h"

#define STEPS_LEAST 3 /* or two that launch something */
#define STEPS_OF_OPERATIONS "(GPU operations that repeat)"
#define STEPS_MOST (1u << 20) /* in a process; later ones are left out */

struct step {
    int64_t start, end; /* ns: on the host; of periods of GPU operations, on the GPU */
    int64_t from, to;   /* on the host */
    int64_t number;     /* that its name ends with; else counted from 1 */
    int64_t gpu;        /* ns of the GPU operations launched in it */
    int64_t launches;
};

/* The steps of one process, by time. */
struct steps_process {
    uint32_t process, thread; /* indices of the trace */
    uint32_t name;            /* of steps.names: without its number; EVENT_NO_TEXT: periods */
    bool to_next;             /* a step lasts from one range of this name to the next */
    ARRAY(struct step) items;
    size_t slowest;
    struct series times;
};

/* A part of steps: what a name took on average, and in the slowest step. */
struct step_part {
    int64_t total;   /* ns in all steps */
    int64_t slowest; /* ns in the slowest */
    int64_t count;   /* in all steps */
    int64_t slowest_count;
};

enum step_part_kind { STEP_KERNEL, STEP_COPY, STEP_CALL, STEP_OUTSIDE };

struct step_part_key {
    uint64_t process; /* of steps.processes */
    uint64_t kind;    /* enum step_part_kind: a kernel or copy on the GPU, an API call, the host outside of API calls */
    uint64_t name;    /* of trace.strings; 0 of STEP_OUTSIDE */
};

/* All zero is empty. The state of section_steps: see section_state(). */
struct steps {
    ARRAY(struct steps_process) processes;
    struct map by_process; /* index in trace.processes -> index + 1 in processes */
    struct interner names;
    struct dense_map part_keys; /* struct step_part_key */
    ARRAY(struct step_part) parts;
};

/* After trace_finish(), with trace.ranges, trace.launched_ops, trace.timeline and trace.host_calls. Returns 0, or -1:
 * no memory, or after error(). */
int steps_gather(struct steps *steps, const struct trace *trace);
void steps_release(struct steps *steps);

/* The parts of steps_gather(): steps_ranges.c and steps_periods.c. Each adds processes with steps, and returns 0, or
 * -1: no memory, or after error(). LAUNCHED: by thread and call; periods are for processes that have no steps yet. */
int steps_find_ranges(struct steps *steps, const struct trace *trace);
int steps_find_periods(struct steps *steps, const struct trace *trace, const struct sorter *launched);
/* The steps of PROCESS, an index of the trace. steps_process(): NULL if it has none. steps_process_new() makes them if
 * it has none; NULL: no memory. */
struct steps_process *steps_process(const struct steps *steps, uint32_t process);
struct steps_process *steps_process_new(struct steps *steps, uint32_t process);
/* Adds a copy of STEP, unless there are STEPS_MOST. Returns 0, or -1: no memory. */
int steps_add(struct steps_process *process, const struct step *step);

/* How much longer the part took in the slowest step than on average in the others, ns. */
int64_t step_part_difference(const struct steps_process *process, const struct step_part *part);

#endif
