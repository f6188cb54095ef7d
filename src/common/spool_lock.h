/*
 * Whether the process that writes a spool still does. It holds a lock on the file, which the kernel releases when the
 * process ends or becomes another program, however that happens; and which is seen from other namespaces of pids, where
 * the pid in the file's name means nothing or another process.
 */
#ifndef GPUTRACE_COMMON_SPOOL_LOCK_H
#define GPUTRACE_COMMON_SPOOL_LOCK_H

#include <stdbool.h>

/* The lock belongs to the open file FD, and stays as long as any descriptor or mapping of that is there. Gives 0, or -1
 * with errno set: the file system has no locks. */
int spool_lock_take(int fd);

/* FD is of another open(). */
bool spool_lock_is_held(int fd);

#endif
