/*
 * CUPTI's callbacks, and which of them are on: those of the kinds that a subscriber is registered for, and no others.
 *
 * May be called from any thread, also inside a callback of CUPTI's; one change is made at a time, and only the
 * difference is switched in CUPTI.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CALLBACK_SWITCHES_H
#define GPUTRACE_AGENT_CUPTI_CALLBACK_SWITCHES_H

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/cupti/driver_calls.h"

struct cupti;

/*
 * The subscription (cupti_callbacks.c). Callbacks are those of driver calls (driver_calls.h) and of resources, that is
 * contexts, streams, modules and graph nodes. They are published to the registry, kind by kind, and to the phases of
 * compilation. A resource callback that comes within a driver call with a callback takes the name, the start and the
 * correlation id of that call.
 */

/* Subscribes, and follows from now on what the registry wants. Returns 0, or -1 with WHY filled: another profiler has
 * CUPTI. */
int cupti_callbacks_init(const struct cupti *cupti, char *why, size_t size);

/* In a forked child, after registry_atfork_child(): forgets CUPTI, calls nothing. */
void cupti_callbacks_atfork_child(void);

/*
 * Switches.
 */

/* All callbacks of SUBSCRIBER are off. */
void callback_switches_init(const struct cupti *cupti, CUpti_SubscriberHandle subscriber);

/* The set of kinds that are wanted, from the registry. */
void callback_switches_follow(uint64_t wanted);

/* Returns that set. */
uint64_t callback_switches_wanted(void);

/* Functions have callbacks, whether or not a subscriber is registered for them, while NEED is there and its kinds are
 * wanted:
 *     CALLBACKS_LAZY_LOADING     launches; as long as phases of compilation are wanted: calls_launch.c
 *     CALLBACKS_FIRST_LAUNCHES   launches; as long as names of launches are: kernel_names.h
 *     CALLBACKS_CAPTURES         launches; as long as nodes of graphs are: graphs.h
 *     CALLBACKS_GRAPH_LAUNCHES   launches of graphs; as long as nodes of graphs are: graphs.h
 *     CALLBACKS_EVENT_WATCH      cuEventRecord: event_watch_begin() */
void callback_switches_need(enum callback_need need, bool on);

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
 * It takes the callback of cuEventRecord: callback_switches_need(CALLBACKS_EVENT_WATCH, true), at any time before.
 */

void event_watch_begin(void);

/* Returns the correlation id of the call; 0: there was no such call, or CUPTI did not report it. */
uint32_t event_watch_end(void);

extern bool event_watch_used; /* by any thread, ever */
bool event_watch_looks(uint32_t correlation);

/* For the collector: cuEventRecord was called on this thread. True: it is the call that was waited for, which is
 * our own and not published. */
static inline bool event_watch_sees(uint32_t correlation)
{
    return __atomic_load_n(&event_watch_used, __ATOMIC_RELAXED) && event_watch_looks(correlation);
}

#endif
