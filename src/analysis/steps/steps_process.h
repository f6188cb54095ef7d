/*
 * The steps of the processes of a trace (steps.h), and steps that are found by the sequence of GPU operations that a
 * thread launches: the longest periods that repeat regularly.
 */
#ifndef GPUTRACE_ANALYSIS_STEPS_STEPS_PROCESS_H
#define GPUTRACE_ANALYSIS_STEPS_STEPS_PROCESS_H

#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/base/series.h"
#include "analysis/engine/trace.h"

#define STEPS_LEAST 3 /* or two ranges that launch operations */
#define STEPS_OF_OPERATIONS "(GPU operations that repeat)"
#define STEPS_MOST (1u << 20) /* in a process; later steps are left out */

struct step {
    int64_t start, end; /* ns on the host; of periods of GPU operations, ns on the GPU */
    int64_t from, to;   /* on the host */
    int64_t number;     /* at the end of its name; else steps are counted from 1 */
    int64_t gpu;        /* ns of the GPU operations launched in it */
    int64_t launches;
};

/* The steps of one process; `items` are by time. */
struct steps_process {
    uint32_t process, thread; /* indices of the trace */
    uint32_t name;            /* in steps.names, without the number; EVENT_NO_TEXT: the steps are periods */
    bool to_next;             /* steps last from one range of this name to the next */
    ARRAY(struct step) items;
    size_t slowest;
    struct series times;
};

/* The time and count of one kind of work, such as a kernel, in all steps of a process and in the slowest step. */
struct step_work {
    int64_t total;   /* ns in all steps */
    int64_t slowest; /* ns in the slowest step */
    int64_t count;   /* in all steps */
    int64_t slowest_count;
};

enum step_work_kind { STEP_KERNEL, STEP_COPY, STEP_CALL, STEP_OUTSIDE };

struct step_work_key {
    uint64_t process; /* index in steps.processes */
    uint64_t kind;    /* enum step_work_kind: a kernel or copy on the GPU, an API call, the host outside of API calls */
    uint64_t name;    /* of trace.strings; 0 for STEP_OUTSIDE */
};

/* The state of section_steps. All zero is empty. */
struct steps {
    ARRAY(struct steps_process) processes;
    struct map by_process; /* index in trace.processes -> index + 1 in processes */
    struct interner names;
    struct dense_map work_keys; /* struct step_work_key -> works */
    ARRAY(struct step_work) works;
};

/* Returns the steps of PROCESS, an index in trace.processes, or NULL. */
static inline struct steps_process *steps_process(const struct steps *steps, uint32_t process)
{
    return FIND_ITEM(&steps->processes, &steps->by_process, process);
}

/* Returns the steps of PROCESS, which are added if they are new. Returns NULL without memory. */
static inline struct steps_process *steps_process_new(struct steps *steps, uint32_t process)
{
    struct steps_process *found = PUT_ITEM(&steps->processes, &steps->by_process, process);
    if (found)
        found->process = process;
    return found;
}

/* Adds a copy of ONE, unless the process has STEPS_MOST steps. Returns 0, or -1: no memory. */
static inline int steps_add(struct steps_process *process, const struct step *one)
{
    if (process->items.count >= STEPS_MOST)
        return 0;
    struct step step = *one;
    step.number = one->number != FIELD_ABSENT ? one->number : (int64_t)process->items.count + 1;
    return ADD(array_push, &process->items, step) ? series_add(&process->times, one->end - one->start) : -1;
}

/* Adds the periods of processes without steps as their steps. LAUNCHED is sorted by thread and call. Returns 0, or -1:
 * no memory, or after error(). */
int steps_find_periods(struct steps *steps, const struct trace *trace, const struct sorter *launched);

#endif
