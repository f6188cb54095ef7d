/*
 * `short_processes N`: N processes, one after another, each with one NVTX range and nothing else. It prints the
 * milliseconds that they took.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int run_child(void)
{
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
        nvtxRangePushA("short");
        nvtxRangePop();
        exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 0, failed = 0;
    double began = now_ms();
    for (int i = 0; i < count; i++)
        failed |= run_child();
    printf("%.0f\n", now_ms() - began);
    return failed;
}
