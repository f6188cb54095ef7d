#include "common/threads.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

unsigned threads_start(pthread_t *threads, unsigned count, void *(*run)(void *context), void *context)
{
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    unsigned started = 0;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    int failure = 0;
    while (started < count && (failure = pthread_create(&threads[started], NULL, run, context)) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = failure ? failure : errno;
    return started;
}
