#include "injected/record/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "injected/registry/readers.h"

#define STACK_BYTES ((size_t)256 << 10)

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
    errno = failure ? failure : errno;
    return failure ? -1 : 0;
}

void thread_become_ours(const char *name)
{
    prctl(PR_SET_NAME, name, 0, 0, 0);
    reader_of_thread(); /* thread-local memory of ours comes with the first look at it, and ends the process when there
                           is none */
}
