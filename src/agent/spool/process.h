/*
 * Finds the facts about this process for the spool's header, starts threads of the library's own, and blocks signals
 * and cancellation while a record is written.
 */
#ifndef GPUTRACE_AGENT_SPOOL_PROCESS_H
#define GPUTRACE_AGENT_SPOOL_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"

/*
 * Protects our own work on a thread of the program from signal handlers, which might come back here while a lock is
 * held, and from cancellation, for which the program expects no point here. Preserves errno.
 *
 *      struct signal_guard before;
 *      signal_guard_begin(&before);
 *      … locks, system calls …
 *      signal_guard_end(&before);
 */

struct signal_guard {
    sigset_t mask;
    bool held; /* signals are blocked; false where blocking would end the process (signal_mask_allowed()) */
    int cancelling;
    int error;
};

void signal_guard_begin(struct signal_guard *before);
void signal_guard_end(const struct signal_guard *before);

/*
 * Threads of ours in the user's process: small, named, and with all signals blocked.
 */

/* Starts RUN(ARGUMENT) detached, with all signals but SIGBUS blocked from its first instruction. Returns 0, or -1 with
 * errno set. */
int thread_start(void *(*run)(void *), void *argument);

/* Must be the first call of a thread of ours: sets the thread's NAME (at most 15 bytes), and allocates thread-local
 * memory. Adds the thread to the list in HEADER, the spool's, so that the trace can leave it out. */
void thread_become_ours(const char *name, struct spool_header *header);

/* Whether the program's threads have all ended, for example by pthread_exit() of the first one. Our threads must end
 * then, because a process ends with its last thread. Called now and then by one thread. */
bool thread_alone(void);

/* Called by a thread of ours right before it returns, after thread_alone(): the process then ends with the status of
 * the program's last thread. */
void thread_end(void);

/* Waits for the end of the process instead of returning: a thread that returns blocks signals, for which a sandbox may
 * end the process. */
void thread_park(void);

/* In a forked child, which has no thread of ours: resets the lists of threads. */
void thread_atfork_child(void);

/*
 * Facts about this process in the spool's header.
 */

/* Reads the beginning of a system file into OUT, and ends it with a NUL. Returns the length, 0 if there is no file. */
size_t process_read_file(const char *path, char *out, size_t size);

/* Fills in a blank header, with the ids of our threads so far, but without `formatted` and the members that collectors
 * fill in. */
void process_facts_fill(struct spool_header *header, uint64_t trace_bits);

/* Records in the header whether CLOCK_REALTIME was stepped since the last call, or since the header was filled in.
 * Called now and then by one thread. */
void process_facts_watch_clock(struct spool_header *header);

/* --- whether signals may be blocked --- */

/*
 * A filter of system calls (seccomp) may end a process for rt_sigprocmask(). The program may not need that call, but
 * guards do, and so does pthread_create(). Such a process is not recorded.
 */

/*
 * Finds out whether signals may be blocked. Called before the first guard of a process. Returns 0, or the reason why
 * not: SPOOL_FAILURE_MASK_KILLS or SPOOL_FAILURE_MASK_UNKNOWN (common/spool.h); then signal_mask_allowed() is false
 * until the next call.
 *
 * LAUNCHER_FILTERS is the number of filters that the launcher is under (seccomp_filters()), where the system call is
 * allowed: a process with that number is not tested further. Otherwise a child process tries the call. Preserves errno.
 * Takes no lock.
 */
int signal_mask_probe(int64_t launcher_filters);

bool signal_mask_allowed(void);

#endif
