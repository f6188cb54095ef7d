/*
 * Measures the rate of the time stamp counter against the system's clock, and renews the base of each thread's times.
 */
#include "agent/torch/ticks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

#define LEAST_MEASURED (100 * NS_PER_MS)
#define READ_TOGETHER 500 /* counts: a clock that took longer was interrupted */

static struct {
    uint32_t taken;       /* a thread measures */
    bool usable;          /* the kernel keeps its time by the counter */
    uint64_t rate;        /* trusted, as of two measurements in a row; 0: not yet, or not any more */
    uint64_t measured;    /* the last measurement */
    uint64_t count, time; /* where the next begins */
} counter;

/* The kernel's clocks that are the counter, in steps that are the same on all processors. */
static bool kernel_uses_counter(void)
{
    static const char *const sources[] = {"tsc\n", "kvm-clock\n", "hyperv_clocksource_tsc_page\n"};
    char source[64];
    int saved = errno;
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, source, sizeof(source) - 1);
    if (fd >= 0)
        close(fd);
    errno = saved;
    source[got > 0 ? got : 0] = '\0';
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        if (ticks_count() != 0 && strcmp(source, sources[i]) == 0)
            return true;
    return false;
}

void ticks_init(void)
{
    counter.usable = kernel_uses_counter();
    counter.time = clock_now();
    counter.count = ticks_count();
}

void ticks_atfork_child(void)
{
    counter.taken = 0;
}

static bool differ(uint64_t rate, uint64_t other)
{
    return (rate > other ? rate - other : other - rate) > other / 1000;
}

/* The counter says COUNT at TIME. The system's clock is set, now and then: then two measurements differ. */
static void measure(uint64_t count, uint64_t time)
{
    if (__atomic_exchange_n(&counter.taken, 1, __ATOMIC_ACQUIRE) != 0)
        return;
    if (time - counter.time >= LEAST_MEASURED) {
        double ns = (double)(int64_t)(time - counter.time), counts = (double)(count - counter.count);
        uint64_t rate = ns > 0 && ns < counts * 16 ? (uint64_t)(ns / counts * 0x1p32) : 0;
        __atomic_store_n(&counter.rate, rate && !differ(rate, counter.measured) ? rate : 0, __ATOMIC_RELAXED);
        counter.measured = rate;
        counter.count = count;
        __atomic_store_n(&counter.time, time, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&counter.taken, 0, __ATOMIC_RELEASE);
}

uint64_t ticks_renew(struct ticks *ticks)
{
    if (!counter.usable)
        return clock_now();
    uint64_t before = ticks_count(), time = clock_now(), took = ticks_count() - before;
    uint64_t latest = ticks->time + ticks_ns(ticks->valid, ticks->rate); /* that was given out, or later */
    if (time < latest && latest - time < NS_PER_US)
        time = latest;
    *ticks = (struct ticks){.time = time};
    if (took > READ_TOGETHER)
        return time;
    uint64_t count = before + took / 2;
    if (time - __atomic_load_n(&counter.time, __ATOMIC_RELAXED) >= LEAST_MEASURED)
        measure(count, time);
    uint64_t rate = __atomic_load_n(&counter.rate, __ATOMIC_RELAXED);
    if (rate != 0)
        *ticks = (struct ticks){.count = count, .time = time, .valid = (NS_PER_MS << 32) / rate, .rate = rate};
    return time;
}
