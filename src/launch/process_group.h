/*
 * The process group and the terminal of the program, which are those that it would have without us.
 *
 * As a rule the program is in our group. Where it would lead its group on a terminal without us, it leads one here, and
 * has the terminal while our group would have it: a shell sees our group, the keyboard the program's.
 *
 * A signal that is sent to us alone is the program's too; one that is sent to the group has reached the program
 * already. A small process in our group, the witness, tells them apart: it blocks all signals, nobody knows its pid,
 * and so only what is sent to the group (or to each process of a container) waits there. Another one, the watcher, in a
 * session of its own, notices when this process is killed.
 */
#ifndef GPUTRACE_LAUNCH_PROCESS_GROUP_H
#define GPUTRACE_LAUNCH_PROCESS_GROUP_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

enum { WITNESS, WATCHER, HELPER_COUNT };

struct process_group {
    pid_t child;
    bool leads;                  /* this process leads its group, as the program would without it */
    bool apart;                  /* the program was put into a group of its own */
    bool keep;                   /* the program runs on when this process is killed */
    int terminal;                /* -1: there is none, or it is not ours to pass on */
    int witness;                 /* socket to the witness; -1: there is none */
    int watcher[2];              /* pipe to the watcher; -1: there is none */
    pid_t helpers[HELPER_COUNT]; /* 0 or -1: it does not run */
};

/* Starts the witness. All signals are held. NAME is the program's argv[0]: what stands before it on our command line is
 * not on that of the helpers, so that who signals gputrace by its name does not signal them. */
void process_group_begin(struct process_group *group, const char *name);

/* Puts CHILD, which waits before its exec, into its group, and starts the watcher. When this process is killed, the
 * watcher prints MESSAGE, a whole line; NULL: nothing. */
void process_group_place(struct process_group *group, pid_t child, const char *name, const char *message);

/* Passes a signal that this process got on to the program, or to its group, unless they have got it. */
void process_group_pass_on(struct process_group *group, const siginfo_t *signal);

/* The program was stopped by SIGNAL: stops this process as well, or gives the program the terminal that it asks for. */
void process_group_stopped(struct process_group *group, int signal);

/* The program has ended: takes the terminal back. */
void process_group_end(struct process_group *group);

/* HELPER was waited for: if it was one of ours, it has ended. */
void process_group_reaped(struct process_group *group, pid_t helper);

/* Ends witness and watcher: from now on nothing is said when this process is killed. Async-signal-safe. */
void process_group_release(struct process_group *group);

#endif
