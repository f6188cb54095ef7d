/*
 * Whether anybody can still write into a spool.
 */
#ifndef GPUTRACE_LAUNCH_WRITER_H
#define GPUTRACE_LAUNCH_WRITER_H

#include <stdbool.h>

#include "common/spool.h"

/* FD is open for reading, and by nobody here for writing. True: no process has mapped it any more, nor will. False also
 * when that cannot be told. */
bool writer_is_gone(int fd, const struct spool_header *header);

#endif
