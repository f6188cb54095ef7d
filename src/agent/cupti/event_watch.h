/*
 * The correlation id of one call of cuEventRecord that this thread is about to make: CUPTI's record of the event has
 * the same, and with it the GPU's time.
 *
 *     event_watch_begin();
 *     result = cuEventRecord(event, stream);
 *     correlation = event_watch_end();
 *
 * It takes the callback of cuEventRecord, which is on from event_watch_switch_on() on.
 */
#ifndef GPUTRACE_AGENT_CUPTI_EVENT_WATCH_H
#define GPUTRACE_AGENT_CUPTI_EVENT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* At any time, also before CUPTI is there. */
void event_watch_switch_on(void);

void event_watch_begin(void);

/* 0: there was no such call, or CUPTI did not tell of it. */
uint32_t event_watch_end(void);

extern bool event_watch_used; /* by any thread, ever */
bool event_watch_looks(uint32_t correlation);

/* For the collector: cuEventRecord was called on this thread. True: it is the call that was waited for, and nobody's
 * business but ours. */
static inline bool event_watch_sees(uint32_t correlation)
{
    return __atomic_load_n(&event_watch_used, __ATOMIC_RELAXED) && event_watch_looks(correlation);
}

#endif
