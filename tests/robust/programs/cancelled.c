/* Threads that are cancelled where they expect it, and nowhere else: between two ranges a lock stays unlocked. */
#include "gpu.h"

#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *mark(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        nvtx_work(300, 1000); /* no point of cancellation: the lock is always let go */
        pthread_mutex_unlock(&lock);
        pthread_testcancel();
    }
    return NULL;
}

/* It is cancelled before the first use of NVTX and of CUDA, and ends after both. */
static void *first(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    pthread_cancel(pthread_self());
    nvtx_work(1, 10);
    gpu_start();
    pthread_mutex_unlock(&lock);
    pthread_testcancel();
    return NULL;
}

int main(void)
{
    pthread_t cancelled;
    pthread_create(&cancelled, NULL, first, NULL);
    pthread_join(cancelled, NULL);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, mark, NULL);
        usleep(2000);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    puts(pthread_mutex_trylock(&lock) == 0 ? "the lock is free" : "the lock is held");
    return 0;
}
