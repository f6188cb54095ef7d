/*
 * Which of CUPTI's callbacks are on: those of the kinds that a subscriber is registered for, and no others.
 *
 * May be called from any thread, also inside a callback of CUPTI's; one change is made at a time, and CUPTI is told the
 * difference alone.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CALLBACK_SWITCHES_H
#define GPUTRACE_AGENT_CUPTI_CALLBACK_SWITCHES_H

#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

struct cupti;

/* All callbacks of SUBSCRIBER are off. */
void callback_switches_init(const struct cupti *cupti, CUpti_SubscriberHandle subscriber);

/* The set of kinds that are wanted, from the registry. */
void callback_switches_follow(uint64_t wanted);

/* That set. */
uint64_t callback_switches_wanted(void);

/* Launches get callbacks, whether or not a subscriber is registered for them, as long as phases of compilation are
 * wanted. */
void callback_switches_launches(bool on);

/* The same, as long as names of launches are wanted, for functions that are launched for the first time:
 * kernel_names.h. */
void callback_switches_new_functions(bool on);

/* The same, as long as nodes of graphs are wanted, while streams are captured: graphs.h. */
void callback_switches_captures(bool on);

/* Launches of graphs get callbacks, as long as nodes of graphs are wanted: graphs.h. */
void callback_switches_graph_launches(bool on);

/* Whether CUPTI does not know the subscriber any more, because CUPTI was detached from the process: true once,
 * and CUPTI is not called from then on. */
bool callback_switches_lost(void);

/* In a forked child: CUPTI is not to be called. */
void callback_switches_atfork_child(void);

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

/* At any time, also before CUPTI is there. */
void event_watch_switch_on(void);

void event_watch_begin(void);

/* 0: there was no such call, or CUPTI did not report it. */
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
