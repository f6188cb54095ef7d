/*
 * CUPTI's callbacks: what the driver does, told to the registry, kind by kind, and to the phases of compilation.
 *
 * Only what somebody is registered for is enabled (callback_switches.h): the driver's functions (driver_calls.h), and
 * resources (cupti_resources.h).
 */
#ifndef GPUTRACE_AGENT_CUPTI_CUPTI_CALLBACKS_H
#define GPUTRACE_AGENT_CUPTI_CUPTI_CALLBACKS_H

#include <stddef.h>

struct cupti;

/* Subscribes, and follows from now on what the registry wants. Gives 0, or -1 with WHY filled: another profiler has
 * CUPTI. */
int cupti_callbacks_init(const struct cupti *cupti, char *why, size_t size);

/* In a forked child, after registry_leave(): forgets CUPTI, calls nothing. */
void cupti_callbacks_leave(void);

#endif
