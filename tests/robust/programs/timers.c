/* SIGPROF and SIGALRM at a fast pace, with handlers that use NVTX; then reads that one alarm interrupts, once each. */
#include "gpu.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t alarmed;

static void on_profile(int number)
{
    (void)number;
    nvtxMarkA("profile");
}

static void on_alarm(int number)
{
    (void)number;
    nvtxRangePushA("alarm");
    nvtxRangePop();
    alarmed = alarmed + 1;
}

static void every(int which, long us)
{
    struct itimerval timer = {.it_interval.tv_usec = us, .it_value.tv_usec = us};
    if (setitimer(which, &timer, NULL) != 0)
        exit(7);
}

int main(void)
{
    struct sigaction profile = {.sa_handler = on_profile, .sa_flags = SA_RESTART},
                     alarm_action = {.sa_handler = on_alarm};
    int ends[2], interrupted = 0;
    char byte;
    nvtx_work(1, 1); /* before handlers can interrupt it */
    sigaction(SIGPROF, &profile, NULL);
    sigaction(SIGALRM, &alarm_action, NULL);
    every(ITIMER_PROF, 1000);
    every(ITIMER_REAL, 700);
    gpu_start();
    printf("%08x\n", gpu_work(200));
    nvtx_work(20000, 60);
    every(ITIMER_PROF, 0);
    every(ITIMER_REAL, 0);
    if (pipe(ends) != 0)
        return 8;
    for (int i = 0; i < 3; i++) {
        struct itimerval once = {.it_value.tv_usec = 50000};
        setitimer(ITIMER_REAL, &once, NULL);
        interrupted += read(ends[0], &byte, 1) < 0 && errno == EINTR;
    }
    printf("%d interrupted, alarmed %d\n", interrupted, alarmed > 3);
    return 0;
}
