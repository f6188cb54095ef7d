#include "agent/spool/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/spool/process_facts.h"
#include "agent/dispatch/readers.h"

#define STACK_BYTES ((size_t)256 << 10)

static unsigned ours; /* threads that were started: none ends before the program's have */
static bool outlived; /* the program's first thread, by others of the program's */

int thread_start(void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* which has a handler of ours, for pages of the spool that are gone */
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

void thread_become_ours(const char *name)
{
    prctl(PR_SET_NAME, name, 0, 0, 0);
    reader_of_thread(); /* thread-local memory of ours comes with the first look at it, and ends the process when there
                           is none */
}

/* The kernel does not try for a lock that a dead thread holds. No sandbox keeps threads from this call. */
static bool first_has_ended(void)
{
    uint32_t lock = (uint32_t)getpid();
    return syscall(SYS_futex, &lock, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL, NULL, 0) != 0 && errno == ESRCH;
}

/* The kernel counts the first thread until the process ends. */
bool thread_alone(void)
{
    if (!first_has_ended())
        return false;
    bool alone = process_facts_threads() == __atomic_load_n(&ours, __ATOMIC_RELAXED) + 1;
    outlived = outlived || !alone;
    return alone;
}

/* pthread_exit() ends the first thread with 0, and the last thread that returns calls exit(0). The bare system call may
 * end it with another status: that of the process, unless other threads of the program came to their end later. Strict
 * seccomp kills one thread. */
void thread_end(void)
{
    int status = outlived ? 0 : process_facts_first_status();
    if (WIFSIGNALED(status))
        syscall(SYS_kill, getpid(), WTERMSIG(status));
    else if (status != 0)
        syscall(SYS_exit, WEXITSTATUS(status));
}

void thread_leave(void)
{
    ours = 0;
    outlived = false;
}
