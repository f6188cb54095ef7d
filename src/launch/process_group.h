/*
 * Puts the program into the process group and on the terminal that it would have without gputrace.
 *
 * As a rule the program is in our group. If it would lead its group on a terminal without gputrace, it leads a group of
 * its own, and that group has the terminal whenever our group would have it: the shell sees our group, the keyboard
 * signals the program's.
 *
 * A signal that is sent to this process alone must be passed on to the program; a signal that is sent to the group has
 * reached the program already. A small process in our group, the witness, tells the two apart: it blocks all signals,
 * and nobody knows its pid, so only signals to the whole group (or to each process of a container) are pending there.
 * A second process in a session of its own, the watcher, notices when this process is killed.
 */
#ifndef GPUTRACE_LAUNCH_PROCESS_GROUP_H
#define GPUTRACE_LAUNCH_PROCESS_GROUP_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

enum { WITNESS, WATCHER, HELPER_COUNT };

struct process_group {
    pid_t child;
    bool leads;                  /* this process leads its group, so the program would without gputrace */
    bool apart;                  /* the program was put into a group of its own */
    bool keep;                   /* the program runs on when this process is killed */
    int terminal;                /* -1 if there is none, or if this process does not lead its group */
    int witness;                 /* socket to the witness; -1 if it does not run */
    int watcher[2];              /* pipe to the watcher; -1 if it could not be made */
    pid_t helpers[HELPER_COUNT]; /* pid, or 0 or -1 if the helper does not run */
};

/* Starts the witness while all signals are held. NAME is the program's argv[0]. The helpers erase
 * what stands before it from their command line, so that 'pkill -f gputrace' does not signal them. */
void process_group_begin(struct process_group *group, const char *name);

/* Puts CHILD, which waits before its exec, into its group, and starts the watcher. If this process is killed, the
 * watcher prints MESSAGE, a whole line, which may be NULL. */
void process_group_place(struct process_group *group, pid_t child, const char *name, const char *message);

/* Passes SIGNAL, which this process received, on to the program or its group, unless they have received it too. */
void process_group_pass_on(struct process_group *group, const siginfo_t *signal);

/* Called when SIGNAL has stopped the program. Stops this process too, or gives the program the terminal. */
void process_group_stopped(struct process_group *group, int signal);

/* Called when the program has ended. Takes the terminal back. */
void process_group_end(struct process_group *group);

/* Called with the pid of each child that was reaped. Clears the helper's pid if it is the witness or the watcher. */
void process_group_reaped(struct process_group *group, pid_t helper);

/* Ends witness and watcher. From now on nothing is printed if this process is killed. Async-signal-safe. */
void process_group_release(struct process_group *group);

#endif
