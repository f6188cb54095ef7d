/*
 * CUPTI's callbacks of resources, told to the registry and to the phases of compilation: contexts that come and go,
 * streams that go, machine code that comes into a context, nodes of graphs.
 *
 * Many come within a driver call that has a callback, too: what they tell then has that call's name, begin and
 * correlation. Which of them are on stands in callback_switches.c.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CUPTI_CALLBACKS_H
#define GPUTRACE_AGENT_CUPTI_CUPTI_CALLBACKS_H

#include <cupti.h>
#include <stddef.h>

struct open_call;

/* --- cupti callbacks --- */

/*
 * CUPTI's callbacks: what the driver does, told to the registry, kind by kind, and to the phases of compilation.
 *
 * Only what somebody is registered for is enabled (callback_switches.h): the driver's functions (driver_calls.h), and
 * resources (cupti_resources.h).
 */

struct cupti;

/* Subscribes, and follows from now on what the registry wants. Gives 0, or -1 with WHY filled: another profiler has
 * CUPTI. */
int cupti_callbacks_init(const struct cupti *cupti, char *why, size_t size);

/* In a forked child, after registry_atfork_child(): forgets CUPTI, calls nothing. */
void cupti_callbacks_atfork_child(void);

#endif
