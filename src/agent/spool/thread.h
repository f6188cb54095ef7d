/*
 * Threads of ours in the user's process: small, named, and deaf to the program's signals.
 */
#ifndef GPUTRACE_AGENT_SPOOL_THREAD_H
#define GPUTRACE_AGENT_SPOOL_THREAD_H

#include <stdbool.h>

/* Starts RUN(ARGUMENT) detached, with all signals but SIGBUS blocked from its first instruction. Gives 0, or -1 with
 * errno set. */
int thread_start(void *(*run)(void *), void *argument);

/* First thing a thread of ours does: takes its NAME (at most 15 bytes), and the memory that threads need here. */
void thread_become_ours(const char *name);

/* Whether the program's threads have all ended, as by pthread_exit() of the first one: ours must end then, for the last
 * thread of a process ends it. Called now and then by one thread. */
bool thread_alone(void);

/* After that, the last thing that a thread of ours does before it returns: the process ends with the status that the
 * program's last thread gave it. */
void thread_end(void);

/* In a forked child, which has no thread of ours. */
void thread_leave(void);

#endif
