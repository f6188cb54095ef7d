/*
 * Many threads with few records each.
 *
 *   many_threads at-once N    N threads at once, each with one NVTX range
 *   many_threads in-turn N    N threads, each with one NVTX range, eight at a time
 *   many_threads waiting N    N threads at once, each in cuStreamSynchronize() until the GPU is done
 *   many_threads first 1      the first NVTX call of a process that has a second thread
 *
 * It prints the milliseconds that this took.
 */
#include "gpu.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define AT_A_TIME 8u
#define GPU_BUSY_US 100000u
#define THREADS_MAX 100000u
#define STACK_BYTES ((size_t)64 << 10)

static pthread_barrier_t all_are_here;
static pthread_attr_t attributes;
static CUcontext context;
static unsigned in_turn;

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void mark(void)
{
    nvtxRangePushA("short");
    nvtxRangePop();
}

static void *mark_at_once(void *unused)
{
    pthread_barrier_wait(&all_are_here);
    mark();
    pthread_barrier_wait(&all_are_here);
    return unused;
}

static void *mark_once(void *unused)
{
    mark();
    return unused;
}

static void *start_in_turn(void *unused)
{
    pthread_t thread;
    for (unsigned i = 0; i < in_turn; i++)
        if (pthread_create(&thread, &attributes, mark_once, NULL) != 0 || pthread_join(thread, NULL) != 0)
            exit(7);
    return unused;
}

static void *wait_for_gpu(void *unused)
{
    MUST(cuCtxSetCurrent(context));
    pthread_barrier_wait(&all_are_here);
    MUST(cuStreamSynchronize(NULL));
    pthread_barrier_wait(&all_are_here);
    return unused;
}

static void CUDA_CB be_busy(void *unused)
{
    (void)unused;
    usleep(GPU_BUSY_US);
}

static void *sleep_long(void *unused)
{
    pause();
    return unused;
}

static double first_call(void)
{
    pthread_t thread;
    if (pthread_create(&thread, &attributes, sleep_long, NULL) != 0)
        exit(7);
    double began = now_ms();
    mark();
    return now_ms() - began;
}

static pthread_t threads[THREADS_MAX];

static void start(unsigned count, void *(*function)(void *))
{
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i], &attributes, function, NULL) != 0)
            exit(7);
}

static void join(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* The time of what the threads do, without that of making them. */
static double run_at_once(unsigned count, void *(*function)(void *))
{
    pthread_barrier_init(&all_are_here, NULL, count + 1);
    start(count, function);
    double began = now_ms();
    pthread_barrier_wait(&all_are_here);
    pthread_barrier_wait(&all_are_here);
    double ms = now_ms() - began;
    join(count);
    return ms;
}

static double run_in_turn(unsigned count)
{
    in_turn = count / AT_A_TIME;
    double began = now_ms();
    start(AT_A_TIME, start_in_turn);
    join(AT_A_TIME);
    return now_ms() - began;
}

int main(int argc, char **argv)
{
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    double ms;
    if (count == 0 || count > THREADS_MAX)
        return 8;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (strcmp(argv[1], "waiting") == 0) {
        context = gpu_start();
        MUST(cuLaunchHostFunc(NULL, be_busy, NULL));
        ms = run_at_once(count, wait_for_gpu);
    } else if (strcmp(argv[1], "first") == 0) {
        ms = first_call();
    } else {
        mark(); /* the first call loads a library */
        ms = strcmp(argv[1], "at-once") == 0 ? run_at_once(count, mark_at_once) : run_in_turn(count);
    }
    printf("%.0f\n", ms);
    return 0;
}
