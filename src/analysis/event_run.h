/*
 * Events one after the other, each only up to its extent, whose texts have numbers of their own. That is how events go
 * from the thread that made them to those that look at them, with little to do for the one thread in between.
 */
#ifndef GPUTRACE_ANALYSIS_EVENT_RUN_H
#define GPUTRACE_ANALYSIS_EVENT_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"

#define EVENT_RUN_MOST 4096u /* events */

struct event_run {
    const char *bytes; /* anywhere: nothing is aligned */
    size_t size, count;
    unsigned categories;     /* EVENT_BIT() of those that are among them */
    const uint32_t *numbers; /* of their texts in the trace's strings, by the run's numbers */
    size_t number_count;
};

/* Makes EVENT, as event_put() does, the event at BYTES of a run with these NUMBERS. Gives where the next one is. */
const char *event_run_take(const char *bytes, const uint32_t *numbers, struct trace_event *event);

#endif
