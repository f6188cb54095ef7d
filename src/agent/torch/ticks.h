/*
 * The time of operators: clock_now(), worked out from the processor's time stamp counter, which is read in half the
 * time.
 *
 * Once a millisecond a thread reads clock_now(), and adds to it what the counter says since. A thread's times never run
 * backwards, unless the system's clock does. Where the kernel does not keep its time by the counter, and until the
 * counter's rate is known, each time is clock_now() itself.
 */
#ifndef GPUTRACE_AGENT_TORCH_TICKS_H
#define GPUTRACE_AGENT_TORCH_TICKS_H

#include <stdint.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* A thread's base for its times, all zero at first. */
struct ticks {
    uint64_t count, time; /* of the counter and of clock_now(), read together */
    uint64_t valid;       /* counts from there on in which the time is worked out; 0: in none */
    uint64_t rate;        /* ns of 2^32 counts */
};

/* Begins to measure the counter's rate, if it can be used. Once for a process and its forks. */
void ticks_init(void);

/* In a forked child: another thread may have been measuring. */
void ticks_atfork_child(void);

static inline uint64_t ticks_count(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;
#endif
}

/* Nanoseconds of COUNT, no more than of a millisecond. */
static inline uint64_t ticks_ns(uint64_t count, uint64_t rate)
{
    return (count * rate) >> 32;
}

/* What ticks_now() does when a millisecond has passed. */
uint64_t ticks_renew(struct ticks *ticks) __attribute__((cold));

/* Returns the time (CLOCK_REALTIME, ns) by this thread's TICKS. */
static inline uint64_t ticks_now(struct ticks *ticks)
{
    uint64_t since = ticks_count() - ticks->count;
    return since < ticks->valid ? ticks->time + ticks_ns(since, ticks->rate) : ticks_renew(ticks);
}

#endif
