/* Threads whose stacks are as small as can be use NVTX; it begins in one that is a little larger, as are those that use
 * CUDA. */
#include "gpu.h"

#include <limits.h>
#include <pthread.h>

#define THREADS 8

static CUcontext context;

static void *mark(void *unused)
{
    (void)unused;
    nvtx_work(1000, 40);
    return NULL;
}

static void *use_gpu(void *sum)
{
    MUST(cuCtxSetCurrent(context));
    *(unsigned *)sum = gpu_work(10);
    return NULL;
}

static void run(void *(*function)(void *), unsigned sums[THREADS], size_t stack)
{
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, stack) != 0)
        exit(8);
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], &attributes, function, &sums[i]) != 0)
            exit(7);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    unsigned sums[THREADS] = {0}, all = 0;
    run(mark, sums, (size_t)PTHREAD_STACK_MIN + 16384); /* the first call loads a library */
    run(mark, sums, (size_t)PTHREAD_STACK_MIN);
    context = gpu_start();
    run(mark, sums, (size_t)PTHREAD_STACK_MIN);
    run(use_gpu, sums, (size_t)PTHREAD_STACK_MIN + 32768);
    for (unsigned i = 0; i < THREADS; i++)
        all += sums[i];
    printf("%08x\n", all);
    return 0;
}
