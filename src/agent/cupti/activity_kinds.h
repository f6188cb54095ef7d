/*
 * Says which kinds of CUPTI's activity records are on: those that the trace wants are on while recording is on, those
 * that device ranges or plugins want stay on as long as these need them.
 */
#ifndef GPUTRACE_AGENT_CUPTI_ACTIVITY_KINDS_H
#define GPUTRACE_AGENT_CUPTI_ACTIVITY_KINDS_H

#include <stdbool.h>
#include <stdint.h>

struct cupti;

/* CUPTI has its buffers: switches on what must be on from the start for TRACE_BITS (TRACE_* of common/settings.h), and
 * what a subscriber wanted before. API calls are on from here to the end. Once per process, before the first context.
 */
void activity_kinds_init(const struct cupti *cupti, uint64_t trace_bits);

/* Switches the kinds of TRACE_BITS on or off. Work already launched keeps its records. */
void activity_kinds_switch(uint64_t trace_bits, bool graph_nodes, bool on);

/* A subscriber wants records of just-in-time compilation, whatever is recorded. At any time, also before init. */
void activity_kinds_want_jit(bool wanted);

/* A subscriber wants the GPU's times of recorded events, whatever is recorded: their records are on from now on, while
 * the others are. At any time; again does no harm. */
enum activity_times {
    ACTIVITY_TIMES_ON,
    ACTIVITY_TIMES_NO_CUPTI, /* CUPTI is not there, or not yet */
    ACTIVITY_TIMES_TOO_OLD,  /* CUPTI of CUDA 12.8 is the first that has them */
};
enum activity_times activity_kinds_want_event_times(void);

/* CUPTI is not called any more: activity_buffers_detached(). */
void activity_kinds_detached(void);

/* In a forked child: forgets everything, calls nothing. */
void activity_kinds_atfork_child(void);

#endif
