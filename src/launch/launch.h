/*
 * Starts a program, passes signals on to it, and waits for it as if this process were not there.
 *
 * All signals are blocked while the program runs and taken one by one with sigwaitinfo(2), so there are no handlers and
 * no races with them. process_group.h says which are passed on. When this process is killed, so is the program.
 */
#ifndef GPUTRACE_LAUNCH_LAUNCH_H
#define GPUTRACE_LAUNCH_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/process_group.h"

struct signals {
    sigset_t held;                 /* blocked while the child runs */
    sigset_t inherited_mask;       /* blocked before */
    struct sigaction inherited[3]; /* of the signals whose disposition is ours meanwhile */
};

/* Blocks signals, and sets those whose disposition matters to us: SIGCHLD, which would hide the child's end if it were
 * ignored, and what our own writes cause, which must fail with errno and not kill us. Call it before fork(). */
void signals_hold(struct signals *signals);

/* Restores the inherited mask and dispositions, in the child before its exec. */
void signals_restore(const struct signals *signals);

/* Waits for the end of the group's child and passes signals on; stops and continues with it. Returns its status as
 * waitpid(2) does. Reaps all other children meanwhile: orphans, where this is process 1 of a container. */
int signals_wait(const struct signals *signals, struct process_group *group);

/* Waits for NS at most while signals are held, and reaps children. True: a signal came that asks this process to end.
 */
bool signals_pause(const struct signals *signals, uint64_t ns);

/* Lets signals through again. One that asks this process to end calls TIDY (async-signal-safe; NULL: nothing), prints
 * MESSAGE (a whole line, kept by pointer) and ends it. */
void signals_end_with(const struct signals *signals, void (*tidy)(void), const char *message);

/* Forgets signals that came for a child that has ended. */
void signals_drain(const struct signals *signals);

/* How the program starts. */
enum launch_way {
    LAUNCH_PREPARED = 'P', /* inside() is called, then it starts */
    LAUNCH_PLAIN = 'N',    /* it starts without tracing */
    LAUNCH_CANCELLED = 'C' /* it does not start */
};

/* Exit statuses of our own, as env(1) and timeout(1) have them. */
enum {
    EXIT_LOSSES = 124,    /* the trace is not complete, and --strict was given */
    EXIT_OURS = 125,      /* we failed */
    EXIT_NOT_RUN = 126,   /* the program was found but could not be run */
    EXIT_NOT_FOUND = 127, /* the program does not exist */
};

struct launch {
    const char *path; /* of the program, from program_find() */
    char **argv;      /* its arguments, argv[0] first; NULL at the end */
    void *context;
    /* In our process: the child exists as PID and waits for the answer. */
    enum launch_way (*before)(void *context, pid_t pid);
    /* In the child, just before exec: sets its environment. Returns 0, or -1: it starts all the same. */
    int (*inside)(void *context);

    const char *killed;         /* a line that is printed when this process is killed; NULL: none */
    struct process_group group; /* `keep` is the caller's */

    bool plain;             /* it runs without tracing: what inside() adds was too much for exec */
    struct signals signals; /* held from the start on, see launch_run() */
    int status;             /* how the program ended, by waitpid(2) */
    uint64_t started;       /* CLOCK_REALTIME before the program began, ns */
    uint64_t ended;         /* and after its end */
};

/*
 * Starts the program, passes signals on and waits for its end. Returns 0 and sets `status` and the times; or, after
 * error(), an exit status of ours: the program did not run. Signals stay held until signals_end_with(), so that
 * none interrupts what follows.
 */
int launch_run(struct launch *launch);

/* When this process says itself why it ends: `killed` of the launch, if there was one, is not printed from now on.
 * Async-signal-safe. */
void launch_say_nothing(void);
/* When there is nothing left to say in case this process is killed: `killed` is not printed from now on. */
void launch_release(struct launch *launch);

/* Writes "exit 3" or "signal 9 (Killed)" for a STATUS of waitpid(2). */
void ending_describe(int status, char *text, size_t space);

/* Returns the exit status for STATUS. When a signal ended the program, it ends this process too, without a second core
 * dump, and this does not return. */
int ending_pass_on(int status);

#endif
