/*
 * Shows progress on stderr, in a terminal line that is replaced in place. Removes an unfinished trace when a signal or
 * a fault ends the tool.
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

/* A thread that shows a task and its progress on the terminal once the task takes longer than a second. */
struct progress {
    struct convert_progress made; /* for convert_options.progress */
    char what[PATH_MAX + 16];
    uint64_t begun; /* CLOCK_MONOTONIC, ns */
    pthread_t thread;
    bool runs; /* the thread runs */
    bool ended;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

/* Shows progress of the task that FORMAT describes, "writing 'a.json'", unless messages are off or stderr is not a
 * terminal. PROGRESS must stay valid until progress_end(), which clears the line; a second progress_end() does nothing.
 */
void progress_begin(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
void progress_end(struct progress *progress);

/* Calls convert_spool() with progress and with function names in stacks, and drops the messages of plugins. */
int progress_convert_spool(struct convert_options *options, struct convert_summary *summary);

/* The output of `gputrace run --live`: a line that is replaced in place on a terminal, or a line every few seconds. */
struct live_line {
    bool terminal; /* stderr is a terminal */
    bool written;  /* a line is on the terminal, which the next one replaces */
};

/* Returns a listener that writes to stderr. LINE must stay valid until live_line_end(), which follows drain_stop(). */
struct drain_listener live_line_begin(struct live_line *line);
void live_line_end(struct live_line *line);

/* From now on, a signal that asks this process to end removes the unfinished trace, prints "interrupted" and the
 * message, and ends the process. A fault (end_at_fault()) removes the unfinished trace, prints "cannot go on" and the
 * message, and exits with STATUS. SIGNALS: the signals that a launch holds, or NULL without a launch. RECORDS_STAY is a
 * FORMAT with two arguments: the spool directory, plain and as a word of a shell. */
#define RECORDS_STAY "the records stay in '%s': 'gputrace recover %s -o recovered.json' writes the trace"
void end_when_asked(const struct signals *signals, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* From now on, a signal or fault as in end_when_asked() calls CLEAN too (async-signal-safe; NULL for none). */
void clean_when_asked(void (*clean)(void));

/* --- the stack and faults of a command --- */

/*
 * Runs a command with the stack that its libraries need, independent of the user's limits. If the command crashes, the
 * signal handler prints where the records are.
 */

/* Returns CALL(ARGC, ARGV). If the limit of stacks is below 8 MiB, CALL and the threads that it starts get stacks of
 * 8 MiB. The limit itself is not changed, because programs that are started inherit it. */
int call_with_stack(int (*call)(int argc, char **argv), int argc, char **argv);

/* From now on, a fault of this process, or an exit() by a library (libdw exits without memory), calls TIDY
 * (async-signal-safe; may be NULL), prints MESSAGE (a line, which must stay valid) and exits with STATUS. A MESSAGE of
 * NULL ends this. */
void end_at_fault(void (*tidy)(void), const char *message, int status);

#endif
