/*
 * The names of kernels that are launched for the first time, told before CUPTI writes their records: a process can be
 * killed before anybody has read the name that a record points to.
 *
 * Launches have no callback unless somebody wants to hear of them. So, when the program gets a function, their
 * callbacks are switched on until all that it got were launched. A program may get functions that it never launches, or
 * late: hearing launches of others may take no more than a hundredth of its time. FIRST_LAUNCHES_PATIENCE of them are
 * heard at once; those heard in vain come back with time, and once all have, launches are heard again. So a program
 * that launches less often than FIRST_LAUNCHES_PER_MS is heard all the time. What is first launched when nobody hears
 * it has its name by polling (cupti_activity_gather_names()).
 *
 * Functions are known by their names here: a kernel has one handle to be launched by and another in each context, and
 * CUPTI has one copy of a name, to which the records of all that are called so point, in whatever module (13.0).
 *
 * A launch that is captured into a graph launches nothing: the function's first launch is still to come. What the graph
 * launches is told by graph_nodes.h.
 */
#ifndef GPUTRACE_AGENT_CUPTI_FIRST_LAUNCHES_H
#define GPUTRACE_AGENT_CUPTI_FIRST_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

/* About a millisecond of the program's time, as hearing of a launch takes 0.2 us. */
#define FIRST_LAUNCHES_PATIENCE 4096u
#define FIRST_LAUNCHES_PER_MS 50u

/* The program got a function called NAME (NULL: not known) from MODULE, a CUmodule or CUlibrary (NULL: not known). */
void first_launches_got(const char *name, const void *module);

/* What was got from MODULE is not launched any more. */
void first_launches_unloaded(const void *module);

/* A launch of what is called NAME (may be NULL) begins on this thread. If it is the first, the name is told as what
 * CORRELATION launches. */
void first_launches_begins(const char *name, uint32_t correlation);

/* The launch that has begun on this thread goes into a graph. */
void first_launches_captured(void);

/* A launch has returned on this thread: whether it was a first one, so that its record has a name to be read. */
bool first_launches_returned(void);

/* At times; NOW is CLOCK_MONOTONIC, ns. */
void first_launches_renew(uint64_t now);

/* While SUSPENDED, when nothing is recorded, no launch is heard: it costs what it costs an untraced program. What the
 * program gets meanwhile waits, and is named when it is launched while recording is on. */
void first_launches_suspend(bool suspended);

/* Nobody wants the names any more. */
void first_launches_forget(void);

/* In a forked child. */
void first_launches_leave(void);

#endif
