/*
 * Time as in the trace: nanoseconds of CLOCK_REALTIME since 1970, the clock of CUPTI's own records.
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

/* A clock that is never stepped, for our own intervals. */
static inline uint64_t clock_monotonic(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

#endif
