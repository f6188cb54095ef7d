/* Preloaded: CLOCK_REALTIME is stepped by STEP_S seconds once STEP_AFTER_MS of CLOCK_MONOTONIC have gone by since the
 * time in STEP_FROM (ns), in all processes at the same moment; STEP_S may be negative. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000

static int64_t number(const char *variable)
{
    const char *text = getenv(variable);
    return text ? strtoll(text, NULL, 10) : 0;
}

static int64_t step_at, step;

__attribute__((constructor)) static void read_settings(void)
{
    step_at = number("STEP_FROM") + number("STEP_AFTER_MS") * 1000000;
    step = number("STEP_S");
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    struct timespec now;
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock != CLOCK_REALTIME || syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) != 0)
        return result;
    if ((int64_t)now.tv_sec * NS_PER_S + now.tv_nsec >= step_at)
        time->tv_sec += step;
    return result;
}
