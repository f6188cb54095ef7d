#include "agent/spool/undisturbed.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

/* What a thread brings upon itself comes all the same, and would end the program were it blocked. */
static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

void undisturbed_begin(struct undisturbed *before)
{
    before->error = errno;
    sigset_t held;
    sigfillset(&held);
    for (size_t i = 0; i < sizeof(own_faults) / sizeof(own_faults[0]); i++)
        sigdelset(&held, own_faults[i]);
    pthread_sigmask(SIG_BLOCK, &held, &before->mask);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancelling);
}

void undisturbed_end(const struct undisturbed *before)
{
    int ignored;
    pthread_setcancelstate(before->cancelling, &ignored);
    pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
    errno = before->error;
}
