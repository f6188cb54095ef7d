/* What a capture limits: `captured` is busy before, in and after the range "middle", a third of a second each, while a
 * child without NVTX, and threads of names that are not gputrace's, are busy and wait. */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#define BUSY(name)                                          \
    __attribute__((noipa)) static void name(double seconds) \
    {                                                       \
        double end = now() + seconds;                       \
        while (now() < end)                                 \
            sink++;                                         \
        sink++;                                             \
    }
BUSY(before_capture)
BUSY(in_capture)
BUSY(after_capture)
BUSY(in_child)
BUSY(in_thread)

static void *own_thread(void *unused)
{
    prctl(PR_SET_NAME, "gputrace-mine", 0, 0, 0);
    in_thread(1.0);
    return unused;
}

static void *sleeper(void *unused)
{
    prctl(PR_SET_NAME, "sleeper", 0, 0, 0);
    usleep(1100000);
    return unused;
}

int main(void)
{
    pthread_t thread, sleeping;
    pid_t child = fork();
    if (child == 0) {
        in_child(1.1);
        _exit(0);
    }
    pthread_create(&thread, NULL, own_thread, NULL);
    pthread_create(&sleeping, NULL, sleeper, NULL);
    nvtxMarkA("begin"); /* the library is loaded */
    before_capture(0.33);
    nvtxRangePushA("middle");
    in_capture(0.33);
    nvtxRangePop();
    after_capture(0.33);
    pthread_join(thread, NULL);
    pthread_join(sleeping, NULL);
    waitpid(child, NULL, 0);
    return 0;
}
