/*
 * Finds the gaps between the operations of each GPU and their causes, in bounded memory. If streams waited for events,
 * the gaps are joined with these waits (idle_waits.h). Gaps whose operation was launched late go to idle_host.h.
 */
#ifndef GPUTRACE_ANALYSIS_IDLE_IDLE_GAPS_H
#define GPUTRACE_ANALYSIS_IDLE_IDLE_GAPS_H

#include <stdint.h>

#include "common/sorter.h"
#include "analysis/idle/idle.h"
#include "analysis/idle/idle_host.h"
#include "analysis/idle/idle_waits.h"

struct trace;

/* An operation usually starts within this after its launch began, if nothing holds it; ns. */
#define IDLE_LATENCY 20000
/* An operation that nothing recorded held for so long was held by something that is not recorded; ns. */
#define IDLE_HELD_AFTER 1000000

struct idle_gaps {
    struct idle_waits waits;
    struct sorter phases; /* of compilation, by process and thread */
    struct sorter asked;  /* gaps, in the order in which idle_waits_find() is called for them */
    struct idle_host host;
};

void idle_gaps_init(struct idle_gaps *gaps, struct sorter_space *space);
void idle_gaps_release(struct idle_gaps *gaps);

/* Records slices of the categories CUDA_SYNC and COMPILATION. Returns 0, or -1: no memory. */
int idle_gaps_event(struct idle_gaps *gaps, const struct trace *trace, const struct event_fields *event);

/* Fills IDLE by trace.timeline, host_calls, ranges and operators, after trace_finish(). Returns 0, or -1: no memory, or
 * after error(). */
int idle_gaps_finish(struct idle_gaps *gaps, struct idle *idle, const struct trace *trace);
/* Fills another IDLE with the gaps from FROM to TO only, without intervals. */
int idle_gaps_again(struct idle_gaps *gaps, struct idle *idle, const struct trace *trace, int64_t from, int64_t to);

#endif
