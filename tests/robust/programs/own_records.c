/*
 * Much of what the library records itself, of several threads: `own_records RANGES THREADS [PAUSE]`. Each thread pushes
 * and pops so many ranges, "THREAD:NUMBER", and allocates and frees 1000 + NUMBER % 1000 bytes in one of ten; after
 * each of a thousand it sleeps for PAUSE microseconds. Then comes one more thread for each thousandth range, with one
 * range.
 */
#include "gpu.h"

#include <pthread.h>
#include <unistd.h>

static CUcontext context;
static unsigned ranges, pause_us;

static void range(unsigned thread, unsigned number)
{
    char name[32];
    snprintf(name, sizeof(name), "%u:%u", thread, number);
    nvtxRangePushA(name);
    if (number % 10 == 0) {
        CUdeviceptr memory;
        MUST(cuMemAlloc(&memory, 1000 + number % 1000));
        MUST(cuMemFree(memory));
    }
    nvtxRangePop();
}

static void *many(void *thread)
{
    MUST(cuCtxSetCurrent(context));
    for (unsigned i = 0; i < ranges; i++) {
        range((unsigned)(uintptr_t)thread, i);
        if (pause_us > 0 && i % 1000 == 999)
            usleep(pause_us);
    }
    return NULL;
}

static void *one(void *thread)
{
    range((unsigned)(uintptr_t)thread, 1);
    return NULL;
}

static pthread_t start(void *(*what)(void *), unsigned thread)
{
    pthread_t started;
    if (pthread_create(&started, NULL, what, (void *)(uintptr_t)thread) != 0)
        exit(9);
    return started;
}

int main(int argc, char **argv)
{
    pthread_t threads[64];
    ranges = argc > 1 ? (unsigned)atoi(argv[1]) : 100000;
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) % 64 : 2;
    pause_us = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
    context = gpu_start();
    for (unsigned i = 0; i < count; i++)
        threads[i] = start(many, i);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < ranges / 1000; i++)
        pthread_join(start(one, count + i), NULL);
    puts("done");
    return 0;
}
