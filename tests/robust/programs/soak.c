/* Works for long, at a pace: `soak SECONDS THREADS ROUNDS`, ROUNDS of gpu_work() a second on each of THREADS threads.
 * Prints how many there were. */
#include "gpu.h"

#include <pthread.h>
#include <time.h>

#define THREADS_MAX 256
#define NS_PER_S 1000000000L

static struct {
    CUcontext context;
    double seconds;
    long pace; /* ns from one round to the next */
} soak;

static double passed(const struct timespec *began)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - began->tv_sec) + (double)(now.tv_nsec - began->tv_nsec) / 1e9;
}

/* A machine that is too slow for the pace does what it can. */
static void *work(void *rounds)
{
    struct timespec began, next;
    unsigned long count = 0;
    MUST(cuCtxSetCurrent(soak.context));
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (next = began; passed(&began) < soak.seconds; count++) {
        gpu_work(1);
        next.tv_nsec += soak.pace;
        next.tv_sec += next.tv_nsec / NS_PER_S;
        next.tv_nsec %= NS_PER_S;
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) != 0)
            continue;
    }
    *(unsigned long *)rounds = count;
    return NULL;
}

int main(int argc, char **argv)
{
    static pthread_t threads[THREADS_MAX];
    static unsigned long rounds[THREADS_MAX];
    int count = argc > 3 ? atoi(argv[2]) : 0;
    if (count < 1 || count > THREADS_MAX || atol(argv[3]) < 1)
        return 8;
    soak.seconds = atof(argv[1]);
    soak.pace = NS_PER_S / atol(argv[3]);
    soak.context = gpu_start();
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, &rounds[i]) != 0)
            return 7;
    unsigned long all = 0;
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        all += rounds[i];
    }
    printf("%lu rounds\n", all);
    return 0;
}
