/*
 * Starts a program, passes signals on to it, and waits for it as if this process were not there.
 *
 * All signals are blocked while the program runs and received one by one with sigwaitinfo(2), so there are no signal
 * handlers. launch/process_group.h says which are passed on. When this process is killed, so is the program.
 */
#ifndef GPUTRACE_LAUNCH_LAUNCH_H
#define GPUTRACE_LAUNCH_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/process_group.h"

/* --- signals --- */

struct signals {
    sigset_t held;                 /* signals that are blocked while the child runs */
    sigset_t inherited_mask;       /* signals that were blocked before */
    struct sigaction inherited[3]; /* dispositions before, of the signals that signals_hold() sets */
};

/* Blocks signals and sets three dispositions: SIGCHLD to the default, because an ignored SIGCHLD hides the child's end;
 * SIGPIPE and SIGXFSZ to ignored, so that our own writes fail with errno and do not kill us. Call it before fork(). */
void signals_hold(struct signals *signals);

/* Restores the inherited mask and dispositions, in the child before its exec. */
void signals_restore(const struct signals *signals);

/* Waits for the end of the group's child, passes signals on to it, and stops and continues when the child does. Returns
 * the child's status as waitpid(2) does. Reaps all other children too: where this process is process 1 of a container,
 * it inherits orphans. */
int signals_wait(const struct signals *signals, struct process_group *group);

/* Waits for at most NS nanoseconds while signals are held, and reaps children. Returns true if a signal came that asks
 * this process to end. */
bool signals_pause(const struct signals *signals, uint64_t ns);

/* Unblocks signals. From then on, a signal that asks this process to end calls TIDY (async-signal-safe; may be NULL),
 * prints MESSAGE (a whole line, which must stay valid) and ends this process. */
void signals_end_with(const struct signals *signals, void (*tidy)(void), const char *message);

/* Discards pending signals that were meant for a child that has ended. */
void signals_drain(const struct signals *signals);

/* --- the program --- */

/* How the program starts. */
enum launch_way {
    LAUNCH_PREPARED = 'P', /* the child calls inside(), then the program starts */
    LAUNCH_PLAIN = 'N',    /* the program starts without tracing */
    LAUNCH_CANCELLED = 'C' /* the program does not start */
};

/* Exit statuses of gputrace itself, as env(1) and timeout(1) define them. */
enum {
    EXIT_LOSSES = 124,    /* the trace is not complete, and --strict was given */
    EXIT_OURS = 125,      /* we failed */
    EXIT_NOT_RUN = 126,   /* the program was found but could not be run */
    EXIT_NOT_FOUND = 127, /* the program does not exist */
};

struct launch {
    const char *path; /* path of the program, from program_find() */
    char **argv;      /* its arguments, argv[0] first; NULL at the end */
    void *context;
    /* Called in this process while the child PID waits for the answer. */
    enum launch_way (*before)(void *context, pid_t pid);
    /* Called in the child just before exec to set its environment. Returns 0 or -1; the program starts either way. */
    int (*inside)(void *context);

    const char *killed;         /* a line that is printed if this process is killed; may be NULL */
    struct process_group group; /* the caller sets `keep`, launch_run() the rest */

    bool plain; /* the program runs without tracing: with the environment of inside(), exec failed with E2BIG */
    struct signals signals; /* held from the start on, see launch_run() */
    int status;             /* how the program ended, by waitpid(2) */
    uint64_t started;       /* CLOCK_REALTIME before the program began, ns */
    uint64_t ended;         /* CLOCK_REALTIME after its end, ns */
};

/*
 * Starts the program, passes signals on and waits for its end. Returns 0 and sets `status` and the times; if the
 * program did not run, returns an exit status of ours after error(). Signals stay held until signals_end_with(), so
 * that none interrupts the writing of the trace.
 */
int launch_run(struct launch *launch);

/* Ends the process that would print `killed` of the current launch, if there is one: this process prints itself why it
 * ends. Async-signal-safe. */
void launch_say_nothing(void);
/* Ends the process that would print `killed` of LAUNCH: from now on the message would be wrong. */
void launch_release(struct launch *launch);

/* Writes "exit 3" or "signal 9 (Killed)" for a STATUS of waitpid(2). */
void ending_describe(int status, char *text, size_t space);

/* Returns the exit status for STATUS of waitpid(2). If a signal ended the program, ends this process by the same
 * signal, without a second core dump, and does not return. */
int ending_pass_on(int status);

#endif
