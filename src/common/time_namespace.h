/*
 * Time namespaces: in one of these CLOCK_MONOTONIC is ahead of that of the host, or behind it. CLOCK_REALTIME is the
 * same everywhere.
 */
#ifndef GPUTRACE_COMMON_TIME_NAMESPACE_H
#define GPUTRACE_COMMON_TIME_NAMESPACE_H

#include <stdint.h>

/* How far this process's CLOCK_MONOTONIC is ahead of the host's, ns; 0 also when that is not known. */
int64_t time_namespace_offset(void);

#endif
