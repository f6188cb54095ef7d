/* What a thread that launched late did meanwhile: calls, compilation, ranges and operators divide the gap. */
#ifndef GPUTRACE_ANALYSIS_IDLE_IDLE_HOST_H
#define GPUTRACE_ANALYSIS_IDLE_IDLE_HOST_H

#include <stdint.h>

#include "common/sorter.h"
#include "analysis/idle/idle.h"

struct trace;

/* A gap that ended because THREAD launched something: from `start` to `called` the thread did other things, up to
 * `held` it launched, and up to `end` the operation waited. */
struct idle_host_gap {
    int64_t start, called, held, end;
    uint32_t thread;       /* index in trace.threads */
    struct idle_what what; /* cause: from `held` on, or BEFORE or AFTER for the whole gap. call: the launch */
    uint32_t launch;       /* enum idle_cause from `called` to `held`: LAUNCH, or COPY if the host copies */
};

/* A time in which a thread loaded or compiled code, or captured a graph. */
struct idle_host_phase {
    int64_t start, end;
    uint32_t thread; /* index in trace.threads */
    uint32_t cause;  /* enum idle_cause */
    uint32_t name;
};

struct idle_host {
    struct sorter gaps, phases;
};

/* Records are added with sorter_add(). */
void idle_host_init(struct idle_host *host, struct sorter_space *space);
void idle_host_release(struct idle_host *host);

/* Adds all gaps to IDLE by trace.host_calls, ranges and operators, after the last record. Returns 0, or -1: no memory,
 * or after error(). */
int idle_host_finish(struct idle_host *host, struct idle *idle, const struct trace *trace);

#endif
