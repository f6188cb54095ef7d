/*
 * Time as the trace tells it: nanoseconds of CLOCK_REALTIME since 1970, the clock of CUPTI's own records.
 */
#ifndef GPUTRACE_COMMON_CLOCK_H
#define GPUTRACE_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

static inline uint64_t clock_read(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Wall-clock time, the axis of every trace. */
static inline uint64_t clock_now(void)
{
    return clock_read(CLOCK_REALTIME);
}

/* For intervals of our own: never stepped. */
static inline uint64_t clock_monotonic(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

/*
 * Time namespaces: in one of these CLOCK_MONOTONIC is ahead of that of the host, or behind it. CLOCK_REALTIME is the
 * same everywhere.
 */

/* How far this process's CLOCK_MONOTONIC is ahead of the host's, ns; 0 also when that is not known. */
int64_t time_namespace_offset(void);

#endif
