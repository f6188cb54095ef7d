/* What a sampler is to find: `planted HOW [ARG...]`.
 *
 *     split           six tenths of the time in sixty(), four in forty()
 *     lock            a thread waits 20 times for main(), which hands over 20 ms after it has begun to wait
 *     children        two processes and a thread besides main(), each busy in a function of its own
 *     threads N       N threads, each busy for some milliseconds
 *     kill            busy, then SIGKILL
 *     outlive         a child, whose pid is printed, is busy for ten minutes, and main() returns
 *     exec            busy in before_exec(); then another program, busy in after_exec()
 *     deep            a chain of 300 calls; the innermost is busy
 *     signal          busy in a signal handler
 *     pingpong N      two threads wake each other N times
 *     spin SECONDS    counts how often it can do something in so much time, and prints it
 *     refuse PROGRAM  perf_event_open() fails with EPERM in PROGRAM
 *     refuse-reading PROGRAM  process_vm_readv() does
 *     forbid PROGRAM  perf_event_open() ends PROGRAM
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static double read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

__attribute__((noipa)) static void burn(unsigned long rounds)
{
    for (unsigned long i = 0; i < rounds; i++)
        sink += i;
}

/* Of the calling thread's CPU time, as the machine may be busy. */
#define BUSY(name)                                                  \
    __attribute__((noipa)) static void name(double seconds)         \
    {                                                               \
        double end = read_clock(CLOCK_THREAD_CPUTIME_ID) + seconds; \
        while (read_clock(CLOCK_THREAD_CPUTIME_ID) < end)           \
            burn(10000);                                            \
        sink++;                                                     \
    }
BUSY(sixty)
BUSY(forty)
BUSY(in_first_child)
BUSY(in_second_child)
BUSY(in_thread)
BUSY(in_main)
BUSY(before_exec)
BUSY(after_exec)
BUSY(before_kill)
BUSY(in_handler)
BUSY(after_parent)

/* By turns, 6 ms and 4 ms. That is several samples at 1 kHz, so that their shares are not left to chance. */
static void split_for(double seconds)
{
    double end = read_clock(CLOCK_THREAD_CPUTIME_ID) + seconds;
    while (read_clock(CLOCK_THREAD_CPUTIME_ID) < end) {
        sixty(0.006);
        forty(0.004);
    }
}

static unsigned long spin_for(double seconds)
{
    double end = read_clock(CLOCK_THREAD_CPUTIME_ID) + seconds;
    unsigned long rounds = 0;
    for (; read_clock(CLOCK_THREAD_CPUTIME_ID) < end; rounds++)
        burn(100000);
    return rounds;
}

/* --- lock --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t handed = PTHREAD_COND_INITIALIZER, waits = PTHREAD_COND_INITIALIZER;
static int turn, waited;

__attribute__((noipa)) static void wait_for_turn(int wanted)
{
    pthread_mutex_lock(&lock);
    waited = wanted;
    pthread_cond_signal(&waits);
    while (turn < wanted)
        pthread_cond_wait(&handed, &lock);
    pthread_mutex_unlock(&lock);
}

static void *waiter(void *unused)
{
    prctl(PR_SET_NAME, "waiter", 0, 0, 0);
    for (int i = 1; i <= 20; i++)
        wait_for_turn(i);
    return unused;
}

static void hand_over(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, waiter, NULL);
    for (int i = 1; i <= 20; i++) {
        pthread_mutex_lock(&lock);
        while (waited < i)
            pthread_cond_wait(&waits, &lock);
        pthread_mutex_unlock(&lock);
        usleep(20000);
        pthread_mutex_lock(&lock);
        turn = i;
        pthread_cond_signal(&handed);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(thread, NULL);
}

/* --- processes and threads --- */

static void outlive(void)
{
    pid_t child = fork();
    if (child != 0) {
        printf("%d\n", (int)child);
        return;
    }
    close(STDOUT_FILENO); /* so that nobody waits for more */
    close(STDERR_FILENO);
    after_parent(600);
}

static void *busy_thread(void *seconds)
{
    in_thread(*(const double *)seconds);
    return NULL;
}

static void have_children(void)
{
    double seconds = 0.3;
    pthread_t thread;
    pid_t first = fork();
    if (first == 0) {
        in_first_child(seconds);
        _exit(0);
    }
    pid_t second = fork();
    if (second == 0) {
        in_second_child(seconds);
        _exit(0);
    }
    pthread_create(&thread, NULL, busy_thread, &seconds);
    in_main(seconds);
    pthread_join(thread, NULL);
    waitpid(first, NULL, 0);
    waitpid(second, NULL, 0);
}

static void have_threads(int count)
{
    static double seconds = 0.005;
    pthread_t *threads = calloc((size_t)count, sizeof(*threads));
    for (int i = 0; threads && i < count; i++)
        pthread_create(&threads[i], NULL, busy_thread, &seconds);
    for (int i = 0; threads && i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

__attribute__((noipa)) static void dive(int depth)
{
    volatile char frame[64];
    frame[0] = (char)depth;
    if (depth > 0)
        dive(depth - 1);
    else
        in_main(0.2);
    sink += (unsigned char)frame[0];
}

static void in_signal(int number)
{
    in_handler(0.3);
    sink += (unsigned long)number;
}

static int there[2], back[2];

static void *answer(void *unused)
{
    char byte;
    while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
        continue;
    return unused;
}

static void play(int rounds)
{
    pthread_t thread;
    char byte = 1;
    if (pipe(there) != 0 || pipe(back) != 0)
        exit(1);
    pthread_create(&thread, NULL, answer, NULL);
    for (int i = 0; i < rounds; i++)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            exit(1);
    close(there[1]);
    pthread_join(thread, NULL);
}

/* --- a filter of system calls --- */

static int filter(unsigned call, unsigned action)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
               ? 0
               : -1;
}

static int run_filtered(char **argv, unsigned call, unsigned action)
{
    if (!argv[0] || filter(call, action) != 0)
        return 1;
    execvp(argv[0], argv);
    return 127;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    const char *number = argc > 2 ? argv[2] : "1";
    if (strcmp(how, "split") == 0)
        split_for(0.6);
    else if (strcmp(how, "lock") == 0)
        hand_over();
    else if (strcmp(how, "children") == 0)
        have_children();
    else if (strcmp(how, "threads") == 0)
        have_threads(atoi(number));
    else if (strcmp(how, "deep") == 0)
        dive(300);
    else if (strcmp(how, "signal") == 0)
        signal(SIGUSR1, in_signal), raise(SIGUSR1);
    else if (strcmp(how, "kill") == 0)
        before_kill(0.3), kill(getpid(), SIGKILL);
    else if (strcmp(how, "outlive") == 0)
        outlive();
    else if (strcmp(how, "exec") == 0)
        before_exec(0.2), execl("/proc/self/exe", "planted", "after", (char *)NULL);
    else if (strcmp(how, "after") == 0)
        after_exec(0.2);
    else if (strcmp(how, "pingpong") == 0)
        play(atoi(number));
    else if (strcmp(how, "spin") == 0)
        printf("%lu\n", spin_for(atof(number)));
    else if (strcmp(how, "refuse") == 0)
        return run_filtered(argv + 2, SYS_perf_event_open, SECCOMP_RET_ERRNO | EPERM);
    else if (strcmp(how, "refuse-reading") == 0)
        return run_filtered(argv + 2, SYS_process_vm_readv, SECCOMP_RET_ERRNO | EPERM);
    else if (strcmp(how, "forbid") == 0)
        return run_filtered(argv + 2, SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS);
    else
        return 2;
    return 0;
}
