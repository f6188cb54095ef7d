/* Tries rt_sigprocmask() in a child process, because a seccomp filter may kill a process for it. */
#include "agent/dispatch/signal_mask.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/settings.h"
#include "common/spool.h"

#define SIGNAL_SET_BYTES 8
#define TRIES 3 /* another signal may end the child */

static bool forbidden;

/* The memory is a copy, for a process that ends with a core dump takes along all those that share its memory (Linux
 * before 5.16). It leaves no core, and a handler of the program for SIGSYS does not run in it. */
static _Noreturn void try_call(void)
{
    static const struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        uint64_t mask;
    } standard; /* as the kernel has it */
    uint64_t mask;
    syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
    syscall(SYS_rt_sigaction, SIGSYS, &standard, NULL, SIGNAL_SET_BYTES);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, SIGNAL_SET_BYTES);
    for (;;)
        syscall(SYS_exit, 0);
}

/* The status of a child that tried the call; -1: there is none. The program does not see the child: SIGCHLD is not
 * sent, and only a wait for __WCLONE or __WALL finds it. */
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

static int try_in_child(void)
{
    for (int i = 0; i < TRIES; i++) {
        int status = child_status();
        if (status >= 0 && WIFEXITED(status))
            return 0;
        if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
            return SPOOL_FAILURE_MASK_KILLS;
    }
    return SPOOL_FAILURE_MASK_UNKNOWN;
}

int signal_mask_probe(int64_t launcher_filters)
{
    int saved = errno;
    int64_t filters = seccomp_filters();
    bool known = filters == 0 || (filters > 0 && filters == launcher_filters);
    int failure = known ? 0 : try_in_child();
    __atomic_store_n(&forbidden, failure != 0, __ATOMIC_RELAXED);
    errno = saved;
    return failure;
}

bool signal_mask_allowed(void)
{
    return !__atomic_load_n(&forbidden, __ATOMIC_RELAXED);
}
