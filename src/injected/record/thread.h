/*
 * Threads of ours in the user's process: small, named, and deaf to the program's signals.
 */
#ifndef GPUTRACE_INJECTED_RECORD_THREAD_H
#define GPUTRACE_INJECTED_RECORD_THREAD_H

/* Starts RUN(ARGUMENT) detached, with all signals but SIGBUS blocked from its first instruction. Gives 0, or -1 with
 * errno set. */
int thread_start(void *(*run)(void *), void *argument);

/* First thing a thread of ours does: takes its NAME (at most 15 bytes), and the memory that threads need here. */
void thread_become_ours(const char *name);

#endif
