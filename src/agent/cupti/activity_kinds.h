/*
 * The kinds of CUPTI's activity records: kinds for the trace are on while recording is on; kinds for device ranges or
 * plugins stay on while these need them.
 */
#ifndef GPUTRACE_AGENT_CUPTI_ACTIVITY_KINDS_H
#define GPUTRACE_AGENT_CUPTI_ACTIVITY_KINDS_H

#include <stdbool.h>
#include <stdint.h>

struct cupti;

/* Enables what must be on from the start for TRACE_BITS (common/record_kinds.h), and what a subscriber already
 * wants. API calls are on from here to the end. Called once per process, after CUPTI has its buffer functions and
 * before the first context. */
void activity_kinds_init(const struct cupti *cupti, uint64_t trace_bits);

/* Enables or disables the kinds of TRACE_BITS. Work already launched keeps its records. */
void activity_kinds_switch(uint64_t trace_bits, bool graph_nodes, bool on);

/* Sets whether a subscriber wants records of just-in-time compilation, even while recording is off. Callable at any
 * time. */
void activity_kinds_want_jit(bool wanted);

/* Turns on the GPU's times of recorded events for a subscriber, even if the trace does not need them: from now on their
 * records are enabled while recording is on. Further calls do nothing. */
enum activity_times {
    ACTIVITY_TIMES_ON,
    ACTIVITY_TIMES_NO_CUPTI, /* CUPTI is not loaded (yet) */
    ACTIVITY_TIMES_TOO_OLD,  /* the first CUPTI with event times is that of CUDA 12.8 */
};
enum activity_times activity_kinds_want_event_times(void);

/* Stops all calls of CUPTI, for activity_buffers_detached(). */
void activity_kinds_detached(void);

/* In a forked child: resets everything, without calling CUPTI. */
void activity_kinds_atfork_child(void);

#endif
