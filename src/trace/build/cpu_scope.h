/*
 * Which CPU samples and thread states the trace shows: those of the program's own threads, while recording was on.
 *
 * Perf events know nothing of captures, so the launcher's file of a process has all of its life. Of a process that has
 * a spool of the library, what happened while that recorded is shown (capture_intervals.h). Of another one, such as a
 * worker that loads data, it is what happened while any process of the run recorded.
 */
#ifndef GPUTRACE_TRACE_BUILD_CPU_SCOPE_H
#define GPUTRACE_TRACE_BUILD_CPU_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "trace/build/capture_intervals.h"

struct conversion;
struct process;

/* Of a process; of all files but the launcher's it is all zero. */
struct cpu_scope {
    const struct capture_intervals *shown; /* NULL: everything is */
    const uint32_t *own_threads;           /* SPOOL_OWN_THREADS, of the library; NULL: none is known */
};
void cpu_scope_release(struct cpu_scope *scope);

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

/* Whether THREAD is one of the library's own in this process. */
bool cpu_scope_is_own(const struct process *process, uint32_t thread);

/* A part of an event that is shown; all zero before the first. */
struct cpu_stretch {
    uint64_t start, end;
    bool any;
};
/* The next one; false: there is none. */
bool cpu_scope_next(const struct process *process, const struct event *event, struct cpu_stretch *stretch);

#endif
