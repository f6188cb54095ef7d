/*
 * The names of kernels that are launched for the first time, told before CUPTI writes their records: a process can be
 * killed before anybody has read the name that a record points to.
 *
 * Launches have no callback unless somebody wants to hear of them. So, when the program gets a function, their
 * callbacks are switched on until all that it got were launched; or until FIRST_LAUNCHES_PATIENCE launches of others
 * went by with none of those among them, as a program may get functions that it never launches. Then it is polling
 * that finds the names of those (cupti_activity_gather_names()).
 */
#ifndef GPUTRACE_INJECTED_COLLECT_FIRST_LAUNCHES_H
#define GPUTRACE_INJECTED_COLLECT_FIRST_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

/* About a millisecond of the program's time. */
#define FIRST_LAUNCHES_PATIENCE 4096u

/* This thread got FUNCTION, a CUfunction or CUkernel (NULL: none), in the call CORRELATION. */
void first_launches_got(const void *function, uint32_t correlation);

/* A launch of FUNCTION begins: whether it is the first. NAME (may be NULL) is then told as what CORRELATION launches.
 */
bool first_launches_begins(const void *function, uint32_t correlation, const char *name);

/* A launch has returned on this thread: whether it was a first one, so that its record has a name to be read. */
bool first_launches_returned(void);

/* Nobody wants the names any more. */
void first_launches_forget(void);

/* In a forked child. */
void first_launches_leave(void);

#endif
