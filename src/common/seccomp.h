/* Reads from /proc how many filters of system calls (seccomp) this process has. */
#ifndef GPUTRACE_COMMON_SECCOMP_H
#define GPUTRACE_COMMON_SECCOMP_H

#include <stdint.h>

/* How many filters the calling thread is under; -1: not known (Linux before 5.9 says only whether there are any, and
 * /proc may be missing). Filters are never removed, and children inherit them: of a process and its descendant with as
 * many, both are under the same. */
int64_t seccomp_filters(void);

#endif
