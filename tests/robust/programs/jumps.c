/* A timer whose handler leaves by siglongjmp(), now and then in the middle of a record; and then ranges without it. */
#include "gpu.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#define JUMPS 100
#define RANGES 1000

static sigjmp_buf back;

static void leave(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void set_timer(int microseconds)
{
    struct itimerval every = {.it_interval.tv_usec = microseconds, .it_value.tv_usec = microseconds};
    setitimer(ITIMER_REAL, &every, NULL);
}

/* Deeper in the stack than the records that were left. */
static __attribute__((noinline)) void work_deeper(void)
{
    volatile char deep[8192];
    deep[0] = deep[sizeof(deep) - 1] = 0;
    nvtx_work(RANGES, 10);
}

int main(void)
{
    static volatile int jumps;
    char text[1000];
    memset(text, 't', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    nvtx_work(1, 10); /* begins to record */
    signal(SIGALRM, leave);
    if (sigsetjmp(back, 1) != 0)
        jumps++;
    else
        set_timer(100);
    while (jumps < JUMPS)
        nvtxMarkA(text);
    set_timer(0);
    work_deeper();
    puts("done");
    return 0;
}
