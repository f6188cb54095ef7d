/*
 * What commands print to stderr about their work: progress, in a terminal line that is replaced in place, and the last
 * line about a trace. Removes an unfinished trace when a signal or a fault ends the tool.
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

struct buffer;
struct output_place;

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

/* From now on, a fault of this process, or an exit() by a library (libdw exits without memory), calls TIDY
 * (async-signal-safe; may be NULL), prints MESSAGE (a line, which must stay valid) and exits with STATUS. A MESSAGE of
 * NULL ends this. */
void end_at_fault(void (*tidy)(void), const char *message, int status);

/* --- the last line about a trace, and messages of plugins --- */

/* The largest traces that a browser can load, in bytes. JSON counts uncompressed: Perfetto needs 2.4 bytes of memory
 * for each of its bytes, and has at most 4 GiB. A .pftrace counts as stored: it is compressed inside, to about a
 * fortieth of the JSON. */
#define BROWSER_JSON_MOST UINT64_C(1800000000)
#define BROWSER_PFTRACE_MOST UINT64_C(250000000)

/* Returns whether records are missing or doubtful, or an option such as --capture-range waited for an event that never
 * came. */
bool summary_is_incomplete(const struct convert_summary *summary);

/* Prints the number of events, the file and its size, losses, events that never came, and where PLACE, which may be
 * NULL, has moved an older file. */
void summary_print(const char *output, const struct convert_summary *summary, const struct output_place *place);

/* Prints the text of LINE, a buffer in memory, with notice(), and releases LINE. */
void summary_notice(struct buffer *line);

/* Writes "12.3 MB", in steps of 1000. */
void summary_put_size(struct buffer *buffer, uint64_t bytes);

/* Writes the messages of plugins with their call stacks. Writes the time that a plugin took if it exceeds a hundredth
 * of RUN_NS, the program's run time, or if EVERY_TIME is set. */
void run_plugins_write(struct buffer *out, const struct convert_plugins *plugins, uint64_t run_ns, bool every_time);

#endif
