/*
 * CPU samples, and times in which threads were off the processors: from files that the launcher wrote (perf/).
 *
 * Such a file is a process of its own for the passes, whose rows are those of the spool of the same process.
 *
 * The trace shows those of the program's own threads, while recording was on. Perf events know nothing of captures, so
 * the launcher's file of a process has all of its life. Of a process that has a spool of the library, what happened
 * while that recorded is shown (times.h). Of another one, such as a worker that loads data, it is what
 * happened while any process of the run recorded.
 */
#ifndef GPUTRACE_TRACE_MEANING_HOST_CPU_H
#define GPUTRACE_TRACE_MEANING_HOST_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meaning/base/times.h"

/* Of a process; of all files but the launcher's it is all zero. */
struct cpu_scope {
    const struct capture_intervals *shown; /* NULL: everything is */
    const uint32_t *own_threads;           /* SPOOL_OWN_THREADS, of the library; NULL: none is known */
};

/* Of a conversion. All zero is empty. */
struct cpu_scopes {
    ARRAY(struct cpu_scope_image {
        uint64_t key;     /* process_image_key() */
        uint64_t started; /* by its header */
        size_t index;     /* among the processes */
    })
    images;                       /* that have a spool of the library, by key and start */
    struct capture_intervals any; /* when any process recorded */
};
void cpu_scopes_release(struct cpu_scopes *scopes);

/* Once all spools of the library are indexed, before the launcher's files are. Returns 0, or -1 after error(). */
int cpu_scopes_find(struct conversion *conversion);

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

/* Once all stacks are known, before they are gathered. Returns 0, or -1 after error(). */
int resolve_cpu_stacks(struct process *process);

/* Whether another file of the same process, before this one, has the row: it is named there. */
bool cpu_row_is_named(const struct conversion *conversion, const struct process *process, const struct track *track);

#endif
