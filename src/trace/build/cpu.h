/*
 * CPU samples, and times in which threads were off the processors: from files that the launcher wrote (perf/).
 *
 * Such a file is a process of its own for the passes, whose rows are those of the spool of the same process.
 */
#ifndef GPUTRACE_TRACE_BUILD_CPU_H
#define GPUTRACE_TRACE_BUILD_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "trace/build/process.h"

/* Samples in one function hit many addresses: stacks that differ in nothing but the address within a line, or within
 * the function where lines are not known, are one stack of the trace. */
struct cpu_stacks {
    ARRAY(struct cpu_stack {
        uint32_t same_as; /* number of the stack that stands for it */
        uint32_t name;    /* of the innermost function, in conversion.names */
    })
    items;                /* of each item of process.stacks */
    ARRAY(uint32_t) uses; /* of these, so far: events that are shown and have it */
};

/* All zero is empty. */
void cpu_stacks_release(struct cpu_stacks *stacks);

/* Once all stacks are known, before they are gathered. Returns 0, or -1 after error(). */
int resolve_cpu_stacks(struct process *process);

/* Whether another file of the same process, before this one, has the row: it is named there. */
bool cpu_row_is_named(const struct conversion *conversion, const struct process *process, const struct track *track);

#endif
