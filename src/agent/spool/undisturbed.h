/*
 * A stretch of our own work on a thread of the program's, into which nothing of the program's comes: no handler of a
 * signal, which might come back here while a lock is held; no cancellation, for which the program has no reason to
 * expect a point here. errno is afterwards as it was before.
 *
 *     struct undisturbed before;
 *     undisturbed_begin(&before);
 *     … locks, system calls …
 *     undisturbed_end(&before);
 */
#ifndef GPUTRACE_AGENT_SPOOL_UNDISTURBED_H
#define GPUTRACE_AGENT_SPOOL_UNDISTURBED_H

#include <signal.h>

struct undisturbed {
    sigset_t mask;
    int cancelling;
    int error;
};

void undisturbed_begin(struct undisturbed *before);
void undisturbed_end(const struct undisturbed *before);

#endif
