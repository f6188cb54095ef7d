/* All signals are blocked from the start, in all threads; they stay so, and none is swallowed. */
#include "gpu.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static CUcontext context;

static int is_same(const sigset_t *expected)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    for (int number = 1; number < 32; number++)
        if (sigismember(&now, number) != sigismember(expected, number))
            return 0;
    return 1;
}

static void *work(void *expected)
{
    MUST(cuCtxSetCurrent(context));
    nvtx_work(10000, 100);
    unsigned sum = gpu_work(10);
    return is_same(expected) ? (void *)(unsigned long)sum : NULL;
}

int main(void)
{
    sigset_t all, pending;
    pthread_t thread;
    void *sum;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &pending);
    sigprocmask(SIG_BLOCK, NULL, &all); /* without those that cannot be blocked */
    nvtx_work(10, 10);
    context = gpu_start();
    kill(getpid(), SIGUSR1);
    pthread_create(&thread, NULL, work, &all);
    pthread_join(thread, &sum);
    sigpending(&pending);
    printf("%d %08lx", is_same(&all), (unsigned long)sum);
    for (int number = 1; number < 32; number++)
        if (sigismember(&pending, number))
            printf(" %d", number);
    puts("");
    return 0;
}
