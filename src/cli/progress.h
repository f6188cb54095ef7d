/*
 * Shows on stderr what goes on: a line on the terminal that the next one replaces. Removes an unfinished trace when a
 * signal or a fault ends the tool.
 */
#ifndef GPUTRACE_CLI_PROGRESS_H
#define GPUTRACE_CLI_PROGRESS_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "launch/drain.h"
#include "launch/launch.h"
#include "trace/meaning/passes/passes.h"

/* What is done, and how much of it: a line on the terminal, once it takes longer than a second. */
struct progress {
    struct convert_progress made; /* for convert_options.progress */
    char what[PATH_MAX + 16];
    uint64_t begun; /* CLOCK_MONOTONIC */
    pthread_t thread;
    bool runs; /* the thread does */
    bool ended;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

/* Shows progress of what FORMAT says, "writing 'a.json'", unless messages are off or stderr is not a terminal. PROGRESS
 * stays where it is until progress_end(), which clears the line, and does nothing the second time. */
void progress_begin(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
void progress_end(struct progress *progress);

/* convert_spool(), with progress shown, names in its stacks, and what plugins printed left out. */
int progress_convert_spool(struct convert_options *options, struct convert_summary *summary);

/* The line of `gputrace run --live`: replaced in place on a terminal; elsewhere a line every few seconds. */
struct live_line {
    bool terminal; /* stderr is one */
    bool written;  /* a line is there that the next one replaces */
};

/* A listener that writes to stderr. LINE stays where it is until live_line_end(), to be called after drain_stop(). */
struct drain_listener live_line_begin(struct live_line *line);
void live_line_end(struct live_line *line);

/* From here on a signal that asks this process to end does so: it removes the unfinished trace and prints "interrupted"
 * and the message. A fault of this process (end_at_fault()) does the same, prints "cannot go on", and exits with
 * STATUS. SIGNALS are those that a launch holds; NULL: there was none. RECORDS_STAY takes the spool directory, twice.
 */
#define RECORDS_STAY "the records stay in '%s': 'gputrace recover %s -o recovered.json' writes the trace"
void end_when_asked(const struct signals *signals, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Such a signal calls CLEAN, too, which does nothing but what a signal's handler may; NULL: no longer. */
void clean_when_asked(void (*clean)(void));

/* --- the stack and faults of a command --- */

/*
 * Gives a command the stack that its libraries need, whatever the user's limits are. If the command crashes, the
 * handler says where the records are.
 */

/* Returns CALL(ARGC, ARGV), which runs on a stack of 8 MiB where the limit of stacks is lower, as do the threads that
 * it starts. The limit stays as it is: a program that is started has it too. */
int call_with_stack(int (*call)(int argc, char **argv), int argc, char **argv);

/* From here on, if a signal of a fault comes or a library ends the process, as libdw does without memory, this calls
 * TIDY (async-signal-safe; NULL: nothing), prints MESSAGE (a line, kept by pointer) and exits with STATUS. MESSAGE
 * NULL: no longer. */
void end_at_fault(void (*tidy)(void), const char *message, int status);

#endif
