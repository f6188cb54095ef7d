/* Marks "tick 0", "tick 1" … at equal distances of CLOCK_MONOTONIC: `steady COUNT MS`. Without a GPU: the simulated one
 * waits by the clock that is stepped. */
#include <errno.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    struct timespec next;
    char name[32];
    if (argc < 3)
        return 8;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int i = 0; i < atoi(argv[1]); i++) {
        snprintf(name, sizeof(name), "tick %d", i);
        nvtxRangePushA(name);
        nvtxRangePop();
        next.tv_nsec += atol(argv[2]) * 1000000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
            continue;
    }
    return 0;
}
