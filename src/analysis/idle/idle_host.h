/* Divides the gaps before late launches by what the launching thread did: its calls, compilation, ranges and
 * operators. */
#ifndef GPUTRACE_ANALYSIS_IDLE_IDLE_HOST_H
#define GPUTRACE_ANALYSIS_IDLE_IDLE_HOST_H

#include <stdint.h>

#include "common/sorter.h"
#include "analysis/idle/idle.h"

struct trace;

/* A gap that ended because `thread` launched an operation. From `start` to `called` the thread did other things, up to
 * `held` it launched, and up to `end` the operation waited; ns. */
struct idle_host_gap {
    int64_t start, called, held, end;
    uint32_t thread;       /* index in trace.threads */
    struct idle_what what; /* call: the launch. cause: of the time from `held` on, or BEFORE or AFTER */
    uint32_t launch;       /* enum idle_cause of the time from `called` to `held`: LAUNCH, or COPY if the host copies */
};

/* A time in which a thread loaded or compiled code, or captured a graph; ns. */
struct idle_host_phase {
    int64_t start, end;
    uint32_t thread; /* index in trace.threads */
    uint32_t cause;  /* enum idle_cause */
    uint32_t name;
};

struct idle_host {
    struct sorter gaps, phases;
};

/* Initialises the sorters. The user adds records with sorter_add(). */
void idle_host_init(struct idle_host *host, struct sorter_space *space);
void idle_host_release(struct idle_host *host);

/* Adds all gaps to IDLE, divided by trace.host_calls, ranges and operators, after the last record. Returns 0, or -1: no
 * memory, or after error(). */
int idle_host_finish(struct idle_host *host, struct idle *idle, const struct trace *trace);

#endif
