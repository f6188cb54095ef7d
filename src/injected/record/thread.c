#include "injected/record/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "injected/record/process_facts.h"
#include "injected/registry/readers.h"

#define STACK_BYTES ((size_t)256 << 10)

static struct {
    unsigned ours; /* that were started: none ends before the program's have */
    bool first_ends;
} threads;

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
        __atomic_add_fetch(&threads.ours, 1, __ATOMIC_RELAXED);
    errno = failure ? failure : errno;
    return failure ? -1 : 0;
}

void thread_become_ours(const char *name)
{
    prctl(PR_SET_NAME, name, 0, 0, 0);
    reader_of_thread(); /* thread-local memory of ours comes with the first look at it, and ends the process when there
                           is none */
}

void thread_first_ends(void)
{
    __atomic_store_n(&threads.first_ends, true, __ATOMIC_RELAXED);
}

/* The first thread is counted by the kernel until the process ends. */
bool thread_alone(void)
{
    return __atomic_load_n(&threads.first_ends, __ATOMIC_RELAXED) &&
           process_facts_threads() == __atomic_load_n(&threads.ours, __ATOMIC_RELAXED) + 1;
}

void thread_leave(void)
{
    threads.ours = 0;
    threads.first_ends = false;
}
