/*
 * Finds the facts about this process for the spool's header, starts threads of the library's own, and holds back
 * signals and cancellation while a record is written.
 */
#ifndef GPUTRACE_AGENT_SPOOL_PROCESS_H
#define GPUTRACE_AGENT_SPOOL_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"

/*
 * A stretch of our own work on a thread of the program, into which nothing of the program comes: no handler of a
 * signal, which might come back here while a lock is held; no cancellation, for which the program has no reason to
 * expect a point here. errno is afterwards as it was before.
 *
 *     struct signal_guard before;
 *     signal_guard_begin(&before);
 *     … locks, system calls …
 *     signal_guard_end(&before);
 */

struct signal_guard {
    sigset_t mask;
    bool held; /* signals are: not where that would end the process (signal_mask_allowed()) */
    int cancelling;
    int error;
};

void signal_guard_begin(struct signal_guard *before);
void signal_guard_end(const struct signal_guard *before);

/*
 * Threads of ours in the user's process: small, named, and with the program's signals blocked.
 */

/* Starts RUN(ARGUMENT) detached, with all signals but SIGBUS blocked from its first instruction. Returns 0, or -1 with
 * errno set. */
int thread_start(void *(*run)(void *), void *argument);

/* First thing a thread of ours does: takes its NAME (at most 15 bytes), and the memory that threads need here. HEADER
 * is the spool's, which lists threads of ours so that the trace can leave them out. */
void thread_become_ours(const char *name, struct spool_header *header);

/* Whether the program's threads have all ended, as by pthread_exit() of the first one: ours must end then, for the last
 * thread of a process ends it. Called now and then by one thread. */
bool thread_alone(void);

/* After that, the last thing that a thread of ours does before it returns: the process ends with the status that the
 * program's last thread gave it. */
void thread_end(void);

/* Waits for the end of the process: a thread that returns holds back signals, for which a sandbox may end the process.
 */
void thread_park(void);

/* In a forked child, which has no thread of ours. */
void thread_atfork_child(void);

/*
 * What the spool's header says about this process.
 */

/* Reads the beginning of a file of the system's into OUT, which ends with a NUL. Returns its length, 0 without a file. */
size_t process_read_file(const char *path, char *out, size_t size);

/* Fills a blank header, also with the threads of ours so far, but for `formatted` and what only collectors know. */
void process_facts_fill(struct spool_header *header, uint64_t trace_bits);

/* Notes in the header when CLOCK_REALTIME was stepped since the last call, or since the header was filled. Called now
 * and then by one thread. */
void process_facts_watch_clock(struct spool_header *header);

/* --- whether signals may be held back --- */

/*
 * A filter of system calls (seccomp) may end a process for rt_sigprocmask(). The program that is recorded has no need
 * to call it, but guards do, and so does pthread_create(). Such a process is not recorded.
 */

/*
 * Before the first guard of a process: returns 0, or why no signal may be held back: SPOOL_FAILURE_MASK_KILLS or
 * SPOOL_FAILURE_MASK_UNKNOWN (common/spool.h). From then on signal_mask_allowed() is false, until the next call.
 *
 * LAUNCHER_FILTERS is how many filters the launcher is under (seccomp_filters()), where the call is allowed: nothing
 * more is asked of a process with as many. In another one a child is made which tries the call. errno is left as it
 * is. Takes no lock.
 */
int signal_mask_probe(int64_t launcher_filters);

bool signal_mask_allowed(void);

#endif
