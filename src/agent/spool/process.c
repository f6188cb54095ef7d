/*
 * Facts of this process for the spool's header, threads of the library's own, which block all signals, and a guard that
 * blocks signals and cancellation while a record is written. A child process tests whether a seccomp filter would kill
 * the process for rt_sigprocmask().
 */
#include "agent/spool/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/spool.h"
#include "agent/dispatch/registry.h"
#include "common/clock.h"
#include "common/settings.h"

/* Signals that a thread causes itself are not blocked: they come all the same, and would end the program if blocked. */
static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

static __thread bool is_ours; /* this is a thread of ours, with all signals blocked */

void signal_guard_begin(struct signal_guard *before)
{
    before->error = errno;
    sigset_t held;
    sigfillset(&held);
    for (size_t i = 0; i < sizeof(own_faults) / sizeof(own_faults[0]); i++)
        sigdelset(&held, own_faults[i]);
    before->held = !is_ours && signal_mask_allowed() && pthread_sigmask(SIG_BLOCK, &held, &before->mask) == 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancelling);
}

void signal_guard_end(const struct signal_guard *before)
{
    int ignored;
    pthread_setcancelstate(before->cancelling, &ignored);
    if (before->held)
        pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
    errno = before->error;
}

static uint32_t own_threads[SPOOL_OWN_THREADS]; /* ids of threads of ours, added as they start to run */

/* --- facts for the header --- */

/* A smaller step cannot be distinguished from the time between reading the two clocks. */
#define STEP_MIN_NS ((int64_t)NS_PER_MS)

size_t process_read_file(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    size_t length = got > 0 ? (size_t)got : 0;
    out[length] = '\0';
    return length;
}

static void read_line_of(const char *path, char *out, size_t size)
{
    size_t length = process_read_file(path, out, size);
    while (length > 0 && (out[length - 1] == '\n' || out[length - 1] == '\0'))
        length--;
    for (size_t i = 0; i < length; i++) /* arguments are separated by NUL */
        if (out[i] == '\0')
            out[i] = ' ';
    out[length] = '\0';
}

enum { STAT_THREADS = 20, STAT_STARTED = 22, STAT_EXIT_CODE = 52 };

/* Returns the number in field WANTED of /proc/self/stat, or 0. Counts from the last bracket, because the second field
 * is a name in brackets that may contain anything. */
static uint64_t read_stat(int wanted)
{
    char line[1024];
    process_read_file("/proc/self/stat", line, sizeof(line));
    const char *at = strrchr(line, ')');
    for (int field = 2; at && field < wanted; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static void read_clocks(uint64_t *monotonic, int64_t *offset)
{
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 3; i++) { /* a thread may lose the processor between reading the clocks */
        uint64_t before = clock_monotonic(), now = clock_now(), after = clock_monotonic();
        if (after - before >= shortest)
            continue;
        shortest = after - before;
        *monotonic = before + shortest / 2;
        *offset = (int64_t)(now - *monotonic);
    }
}

void process_facts_fill(struct spool_header *header, uint64_t trace_bits)
{
    memcpy(header->magic, SPOOL_MAGIC, sizeof(header->magic));
    header->version = SPOOL_VERSION;
    header->header_bytes = SPOOL_HEADER_BYTES;
    header->pid = (uint32_t)getpid();
    header->parent_pid = (uint32_t)getppid();
    header->state = SPOOL_OPEN;
    int64_t offset = 0;
    read_clocks(&header->started_monotonic, &offset);
    header->started = header->started_monotonic + (uint64_t)offset;
    header->clock_looked = header->started_monotonic;
    header->trace_bits = trace_bits;
    read_line_of("/proc/self/comm", header->program, sizeof(header->program));
    read_line_of("/proc/self/cmdline", header->command, sizeof(header->command));
    header->process_started = read_stat(STAT_STARTED);
    struct stat status;
    header->pid_namespace = stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
    header->monotonic_ahead = time_namespace_offset();
    struct job_rank rank;
    rank_read(&rank);
    header->rank = (uint32_t)(rank.rank + 1);
    header->local_rank = (uint32_t)(rank.local + 1);
    for (size_t i = 0; i < SPOOL_OWN_THREADS; i++)
        header->own_threads[i] = __atomic_load_n(&own_threads[i], __ATOMIC_RELAXED);
    header->world_size = rank.world_size > 0 ? (uint32_t)rank.world_size : 0;
    header->node_rank = (uint32_t)(rank.node + 1);
}

void process_facts_watch_clock(struct spool_header *header)
{
    uint64_t monotonic = 0;
    int64_t offset = 0;
    read_clocks(&monotonic, &offset);
    uint32_t count = header->clock_count;
    int64_t known =
        count > 0 ? header->clocks[count - 1].offset : (int64_t)(header->started - header->started_monotonic);
    uint64_t before = header->clock_looked;
    header->clock_looked = monotonic;
    if (llabs(offset - known) < STEP_MIN_NS || count >= SPOOL_CLOCKS)
        return;
    header->clocks[count] = (struct spool_clock){.before = before, .monotonic = monotonic, .offset = offset};
    __atomic_store_n(&header->clock_count, count + 1, __ATOMIC_RELEASE);
}

/* --- threads --- */

#define STACK_BYTES ((size_t)256 << 10)

static unsigned ours; /* number of our threads that were started; none ends before the program's threads */
static bool outlived; /* other threads of the program outlived its first thread */

int thread_start(void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* SIGBUS has a handler of ours, for pages of the spool that are lost */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int failure = pthread_create(&thread, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (!failure)
        __atomic_add_fetch(&ours, 1, __ATOMIC_RELAXED);
    errno = failure ? failure : errno;
    return failure ? -1 : 0;
}

/* Adds THREAD to THREADS, a list of SPOOL_OWN_THREADS ids to which other threads may be adding as well. */
static void list_thread(uint32_t *threads, uint32_t thread)
{
    for (size_t i = 0; i < SPOOL_OWN_THREADS; i++) {
        uint32_t none = 0;
        if (__atomic_compare_exchange_n(&threads[i], &none, thread, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            none == thread)
            return;
    }
}

void thread_become_ours(const char *name, struct spool_header *header)
{
    uint32_t thread = (uint32_t)gettid();
    is_ours = true;
    prctl(PR_SET_NAME, name, 0, 0, 0);
    list_thread(own_threads, thread);
    list_thread(header->own_threads, thread);
    epoch_reader(); /* allocates our thread-local memory: the first access ends the process if there is none */
}

/* Whether only our threads and the first one are left, which the kernel counts until the process ends. */
bool thread_alone(void)
{
    /* Whether the first thread is alive: FUTEX_TRYLOCK_PI fails with ESRCH if the lock's owner is dead. No sandbox
     * forbids this call. */
    uint32_t lock = (uint32_t)getpid();
    if (syscall(SYS_futex, &lock, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0 || errno != ESRCH)
        return false;
    bool alone = (unsigned)read_stat(STAT_THREADS) == __atomic_load_n(&ours, __ATOMIC_RELAXED) + 1;
    outlived = outlived || !alone;
    return alone;
}

/* pthread_exit() ends the first thread with 0, and the last thread that returns calls exit(0). The bare system call may
 * end the first thread with another status, which is the status of the process unless other threads of the program
 * ended later. Strict seccomp kills a single thread by SIGKILL, and a filter may kill one by SIGSYS. */
void thread_end(void)
{
    int status = outlived ? 0 : (int)read_stat(STAT_EXIT_CODE);
    if (WIFSIGNALED(status)) { /* the signal is blocked in our threads, and may have a handler */
        int number = WTERMSIG(status);
        sigset_t only;
        sigemptyset(&only);
        sigaddset(&only, number);
        signal(number, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &only, NULL);
        syscall(SYS_tgkill, getpid(), gettid(), number);
    } else if (status != 0)
        syscall(SYS_exit, WEXITSTATUS(status));
}

void thread_park(void)
{
    static uint32_t never;
    for (;;)
        syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

void thread_atfork_child(void)
{
    ours = 0;
    memset(own_threads, 0, sizeof(own_threads));
    outlived = false;
}

/* --- whether signals may be blocked --- */

#define SIGNAL_SET_BYTES 8
#define TRIES 3 /* another signal may end the child, so there are several tries */

static bool forbidden;

/* Tries the call, in a child with a copy of the memory: a process that dumps core takes along all processes that share
 * its memory (Linux before 5.16). The child dumps no core, and does not run the program's handler of SIGSYS. */
static _Noreturn void try_call(void)
{
    static const struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        uint64_t mask;
    } standard; /* the kernel's struct sigaction, with the default action */
    uint64_t mask;
    syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
    syscall(SYS_rt_sigaction, SIGSYS, &standard, NULL, SIGNAL_SET_BYTES);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, SIGNAL_SET_BYTES);
    for (;;)
        syscall(SYS_exit, 0);
}

/* Returns the wait status of a child that tried the call, or -1 if there is none. The program does not see the child:
 * SIGCHLD is not sent, and only a wait for __WCLONE or __WALL finds it. */
static int child_status(void)
{
    int status;
    pid_t waited, child = (pid_t)syscall(SYS_clone, (unsigned long)CLONE_VFORK, NULL, NULL, NULL, 0);
    if (child == 0)
        try_call();
    if (child < 0)
        return -1;
    do
        waited = (pid_t)syscall(SYS_wait4, child, &status, __WCLONE, NULL);
    while (waited < 0 && errno == EINTR);
    return waited == child ? status : -1;
}

int signal_mask_probe(int64_t launcher_filters)
{
    int saved = errno;
    int64_t filters = seccomp_filters();
    bool known = filters == 0 || (filters > 0 && filters == launcher_filters);
    int failure = known ? 0 : SPOOL_FAILURE_MASK_UNKNOWN;
    for (int i = 0; i < TRIES && failure == SPOOL_FAILURE_MASK_UNKNOWN; i++) {
        int status = child_status();
        if (status >= 0 && WIFEXITED(status))
            failure = 0;
        else if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
            failure = SPOOL_FAILURE_MASK_KILLS;
    }
    __atomic_store_n(&forbidden, failure != 0, __ATOMIC_RELAXED);
    errno = saved;
    return failure;
}

bool signal_mask_allowed(void)
{
    return !__atomic_load_n(&forbidden, __ATOMIC_RELAXED);
}
