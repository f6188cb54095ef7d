/*
 * CPU samples, and times in which threads were off the processors: from files that the launcher wrote (perf/).
 *
 * Such a file is a process of its own for the passes; its rows are those of the agent's spool of the process.
 *
 * The trace shows events of the program's own threads while recording was on. Perf events ignore captures, so the
 * launcher's file covers all of a process's life. If the process has a spool of the agent, its events are shown while
 * that one recorded (times.h). If not, as for a worker that loads data, they are shown while any process of the run
 * recorded.
 */
#ifndef GPUTRACE_TRACE_MEANING_HOST_CPU_H
#define GPUTRACE_TRACE_MEANING_HOST_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meaning/base/times.h"

/* What the trace shows of a launcher's file. All zeros for other files. */
struct cpu_scope {
    const struct capture_intervals *shown; /* when events are shown; NULL: always */
    const uint32_t *own_threads;           /* SPOOL_OWN_THREADS threads of the agent; NULL: unknown */
};

/* The scopes of a conversion. All zeros are empty. */
struct cpu_scopes {
    ARRAY(struct cpu_scope_image {
        uint64_t key;     /* process_image_key() */
        uint64_t started; /* by its header */
        size_t index;     /* among the processes */
    })
    images;                       /* the agent's spools, sorted by key and start */
    struct capture_intervals any; /* when any process recorded */
};

/* Sets the scopes, after all spools of the agent are indexed and before the launcher's files are. Returns 0, or -1
 * after error(). */
int cpu_scopes_find(struct conversion *conversion);

/* Samples in one function hit many addresses. Stacks that differ only in the innermost address, within one line, or
 * within one function if lines are unknown, are one stack of the trace. */
struct cpu_stacks {
    ARRAY(struct cpu_stack {
        uint32_t same_as; /* number of the stack that stands for this one */
        uint32_t name;    /* of the innermost function, in conversion.names */
    })
    items;                /* one for each item of process.stacks */
    ARRAY(uint32_t) uses; /* for each item of process.stacks: how many shown events have it */
};

/* Finds the stacks that stand for others, after all are indexed and before they are gathered. Returns 0, or -1 after
 * error(). */
int resolve_cpu_stacks(struct process *process);

/* Whether the agent's spool of the process has the row, or, if TRACK is NULL, the process: then that spool names it. */
bool cpu_row_is_named(const struct conversion *conversion, const struct process *process, const struct track *track);

#endif
