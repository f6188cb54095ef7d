/*
 * Threads of ours in the user's process: small, named, and deaf to the program's signals.
 */
#ifndef GPUTRACE_INJECTED_RECORD_THREAD_H
#define GPUTRACE_INJECTED_RECORD_THREAD_H

#include <stdbool.h>

/* Starts RUN(ARGUMENT) detached, with all signals but SIGBUS blocked from its first instruction. Gives 0, or -1 with
 * errno set. */
int thread_start(void *(*run)(void *), void *argument);

/* First thing a thread of ours does: takes its NAME (at most 15 bytes), and the memory that threads need here. */
void thread_become_ours(const char *name);

/* The program's first thread ends, which need not be the program's end: pthread_exit(). */
void thread_first_ends(void);

/* Whether the program's threads have all ended, the first one by pthread_exit() after it recorded: ours must return
 * then, for the last thread of a process ends it. */
bool thread_alone(void);

/* In a forked child, which has no thread of ours. */
void thread_leave(void);

#endif
