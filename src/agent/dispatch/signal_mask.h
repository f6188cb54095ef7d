/*
 * Whether this process may hold back signals, which the guards of agent/spool/process.h do.
 *
 * A filter of system calls (seccomp) may end a process for rt_sigprocmask(). The program that is recorded has no need
 * to call it, but guards do, and so does pthread_create(). Such a process is not recorded.
 */
#ifndef GPUTRACE_AGENT_DISPATCH_SIGNAL_MASK_H
#define GPUTRACE_AGENT_DISPATCH_SIGNAL_MASK_H

#include <stdbool.h>
#include <stdint.h>

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
