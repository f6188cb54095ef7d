/*
 * Waiting for a child as if we were not there: signals meant for it reach it, and it begins with what we inherited.
 *
 * All signals are blocked while the child runs and taken one by one with sigwaitinfo(2), so there are no handlers and
 * no races with them. A signal that the terminal makes (^C, ^\, ^Z, a new window size) reaches the child by itself, as
 * it is in our process group; one that somebody sent to us is passed on. Sent to the whole group, it may reach the
 * child twice.
 */
#ifndef GPUTRACE_LAUNCH_SIGNALS_H
#define GPUTRACE_LAUNCH_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct signals {
    sigset_t held;                 /* what is blocked while the child runs */
    sigset_t inherited_mask;       /* what was blocked before */
    struct sigaction inherited[3]; /* dispositions of those that are set for ourselves, as they were before */
};

/* Blocks signals, and sets those whose disposition matters to us: SIGCHLD, which would hide the child's end if it were
 * ignored, and what our own writes cause, which must fail with errno and not kill us. Call it before fork(). */
void signals_hold(struct signals *signals);

/* Returns this process, the child before exec, the mask and dispositions that were inherited. */
void signals_restore(const struct signals *signals);

/* Waits for CHILD's end and passes signals on; stops and continues with it. Returns its status as waitpid(2) does. The
 * ends of all other children are taken meanwhile: orphans, where this is process 1 of a container. */
int signals_wait(const struct signals *signals, pid_t child);

/* Waits for NS at most while signals are held, and takes the ends of children. True: one came that asks this process to
 * end. */
bool signals_pause(const struct signals *signals, uint64_t ns);

/* Lets signals through again; one that asks us to end prints MESSAGE (a whole line, kept by pointer) and does end us.
 */
void signals_end_with(const struct signals *signals, const char *message);

/* What is done before that, in the signal's handler: async-signal-safe. */
void signals_on_end(void (*tidy)(void));

/* Forgets signals that came for a child that has ended. */
void signals_drain(const struct signals *signals);

#endif
