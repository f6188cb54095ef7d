/* What a capture limits: `captured` is busy before, in and after the range "middle", a third of a second of CPU time
 * each, while a child without NVTX and a thread with a name like gputrace's are busy, and another thread sleeps. */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static volatile bool done;
static sem_t end;

/* As the machine may be busy. */
static double processor_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#define BUSY(name)                                             \
    __attribute__((noipa)) static void name(double seconds)    \
    {                                                          \
        double until = processor_time() + seconds;             \
        while (seconds > 0 ? processor_time() < until : !done) \
            sink++;                                            \
        sink++;                                                \
    }
BUSY(before_capture)
BUSY(in_capture)
BUSY(after_capture)
BUSY(in_child)
BUSY(in_thread)

static void *own_thread(void *unused)
{
    prctl(PR_SET_NAME, "gputrace-mine", 0, 0, 0);
    in_thread(0);
    return unused;
}

static void *sleeper(void *unused)
{
    prctl(PR_SET_NAME, "sleeper", 0, 0, 0);
    sem_wait(&end);
    return unused;
}

int main(void)
{
    pthread_t thread, sleeping;
    sem_init(&end, 0, 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        in_child(0);
    }
    pthread_create(&thread, NULL, own_thread, NULL);
    pthread_create(&sleeping, NULL, sleeper, NULL);
    nvtxMarkA("begin"); /* the library is loaded */
    before_capture(0.33);
    nvtxRangePushA("middle");
    in_capture(0.33);
    nvtxRangePop();
    after_capture(0.33);
    done = true;
    sem_post(&end);
    pthread_join(thread, NULL);
    pthread_join(sleeping, NULL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
