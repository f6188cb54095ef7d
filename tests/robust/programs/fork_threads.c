/* Threads that fork at the same time, while others record: every child uses NVTX and ends with a status of its own. */
#include "gpu.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define CHILDREN 10

static volatile int done;

static void *mark(void *unused)
{
    (void)unused;
    for (int i = 0; i < 500 && !done; i++) /* on a busy machine, too */
        nvtx_work(100, 50);
    return NULL;
}

static void *fork_some(void *unused)
{
    unsigned long sum = 0;
    (void)unused;
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            if (i % 2)
                nvtx_work(10, 10);
            exit(i);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
            exit(6);
        sum += (unsigned long)WEXITSTATUS(status);
    }
    return (void *)sum;
}

int main(void)
{
    pthread_t marker, threads[THREADS];
    unsigned long all = 0;
    nvtx_work(10, 10);
    gpu_start();
    pthread_create(&marker, NULL, mark, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, fork_some, NULL);
    for (int i = 0; i < THREADS; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        all += (unsigned long)sum;
    }
    done = 1;
    pthread_join(marker, NULL);
    printf("%lu %08x\n", all, gpu_work(10));
    return 0;
}
