/* The one clock of host and devices: nanoseconds of CLOCK_REALTIME, as CUPTI's time stamps are. */
#ifndef SIMGPU_CORE_CLOCK_H
#define SIMGPU_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / UINT64_C(1000000000)),
                             .tv_nsec = (long)(ns % UINT64_C(1000000000))};
}

/* Comes back when the clock is past UNTIL. Sleeping takes longer than it should, so the last part is waited out awake.
 */
static inline void clock_wait(uint64_t until)
{
    enum { AWAKE_NS = 200000 };
    const struct timespec time = clock_timespec(until - AWAKE_NS);
    while (clock_now() + AWAKE_NS < until)
        clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, NULL);
    while (clock_now() < until)
        ;
}

#endif
