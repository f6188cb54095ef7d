/*
 * CUPTI's callbacks: driver calls (driver_calls.h) and resources, that is contexts, streams, modules and graph nodes.
 * They are published to the registry, kind by kind, and to the phases of compilation.
 *
 * Only callbacks that a subscriber needs are enabled (callback_switches.h). A resource callback that comes within a
 * driver call with a callback takes the name, the start and the correlation id of that call.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CUPTI_CALLBACKS_H
#define GPUTRACE_AGENT_CUPTI_CUPTI_CALLBACKS_H

#include <cupti.h>
#include <stddef.h>

struct cupti;

/* Subscribes, and follows from now on what the registry wants. Returns 0, or -1 with WHY filled: another profiler has
 * CUPTI. */
int cupti_callbacks_init(const struct cupti *cupti, char *why, size_t size);

/* In a forked child, after registry_atfork_child(): forgets CUPTI, calls nothing. */
void cupti_callbacks_atfork_child(void);

#endif
