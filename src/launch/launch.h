/*
 * Starting a program and waiting for it. This room knows nothing of traces: what has to be done around the start is the
 * caller's, by two functions.
 */
#ifndef GPUTRACE_LAUNCH_LAUNCH_H
#define GPUTRACE_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/signals.h"

/* What becomes of a program that is about to start. */
enum launch_way {
    LAUNCH_PREPARED = 'P', /* inside() is called, then it starts */
    LAUNCH_PLAIN = 'N',    /* it starts as if we were not there */
    LAUNCH_CANCELLED = 'C' /* it does not start */
};

/* Exit statuses of our own, as env(1) and timeout(1) have them. */
enum {
    EXIT_LOSSES = 124,    /* the trace is not whole, and was to be */
    EXIT_OURS = 125,      /* we failed */
    EXIT_NOT_RUN = 126,   /* the program was found but could not be run */
    EXIT_NOT_FOUND = 127, /* there is no such program */
};

struct launch {
    const char *path; /* of the program, from program_find() */
    char **argv;      /* its arguments, argv[0] first; NULL at the end */
    void *context;
    /* In our process: the child exists as PID and waits for the answer. */
    enum launch_way (*before)(void *context, pid_t pid);
    /* In the child, just before exec: sets its environment. Returns 0, or -1: it starts all the same. */
    int (*inside)(void *context);

    bool plain;             /* it runs as if we were not there: with what inside() adds, there is too much for exec */
    struct signals signals; /* held from the start on, see launch_run() */
    int status;             /* how the program ended, as waitpid(2) tells */
    uint64_t started;       /* CLOCK_REALTIME before the program began, ns */
    uint64_t ended;         /* and after its end */
};

/*
 * Starts the program, passes signals on and waits for its end. Returns 0 and sets `status` and the times; or, after
 * error(), an exit status of ours: the program did not run. Signals stay held until signals_end_with(), so that what
 * comes meanwhile interrupts nothing.
 */
int launch_run(struct launch *launch);

/*
 * How a program ended, in words and handed on.
 */

/* Writes "exit 3" or "signal 9 (Killed)" for a STATUS of waitpid(2). */
void ending_describe(int status, char *text, size_t room);

/* The exit status that tells of STATUS. When a signal ended the program, it ends us too, without a second core dump,
 * and this does not return. */
int ending_pass_on(int status);

#endif
