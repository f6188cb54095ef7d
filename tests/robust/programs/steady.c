/* Marks "tick 0", "tick 1" … at equal distances: `steady COUNT MS [FILE]`. Prints of each when it was, by the host's
 * CLOCK_MONOTONIC in ns: a time before it and one after it. Makes FILE when half of them are done. Without a GPU: the
 * simulated one waits by the clock that is stepped. */
#include <errno.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv)
{
    char name[32];
    if (argc < 3)
        return 8;
    int count = atoi(argv[1]);
    struct timespec pause = {.tv_nsec = atol(argv[2]) * 1000000};
    for (int i = 0; i < count; i++) {
        if (argc > 3 && i == count / 2)
            close(open(argv[3], O_WRONLY | O_CREAT, 0600));
        snprintf(name, sizeof(name), "tick %d", i);
        long long before = now_ns();
        nvtxRangePushA(name);
        nvtxRangePop();
        printf("%lld %lld\n", before, now_ns());
        while (clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL) == EINTR)
            continue;
    }
    return 0;
}
