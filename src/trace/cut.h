/*
 * A sink that passes on a part of a trace. The trace is read twice: the first reading finds where the trace begins and
 * ends, which GPU operations a thread launched, and which flows have both their ends in the part.
 *
 *     cut_new();
 *     a source passes all events to cut_scanner();
 *     cut_scanned();
 *     the source passes all events to cut_writer();
 *     cut_free();
 *
 * What is in the part:
 *
 *   slices, ranges   those that overlap a window and that the other options select; they are not shortened
 *   flows            if both their slices are in the part
 *   counters         the values in a window, and the last value before each window, moved to its start
 *   names of rows    all; with options for processes or GPUs, only the names of their rows
 *   metadata         all, and the key CUT_KEY, which says what was cut; with options for a rank or a process, what
 *                    concerns other processes is left out, and distributedInfo is that of the rank that is left
 *
 * A flow must follow its slice, as sink.h requires. Memory grows with the rows, the counters, the occurrences of the
 * range, and by a bit for each flow.
 */
#ifndef GPUTRACE_TRACE_CUT_H
#define GPUTRACE_TRACE_CUT_H

#include <stdbool.h>

#include "trace/sink.h"
#include "trace/windows.h"

struct buffer;
struct cut;

/* Appends the value of CUT_KEY: OPTIONS, and the times FROM to TO, from the trace's start, that are left of
 * LENGTH ns. */
void cut_describe(const struct filter_options *options, int64_t from, int64_t to, uint64_t length, struct buffer *out);

/* OPTIONS, TIMES and PATH, the trace's name for messages, must outlive the cut. TIMES: occurrences of the range or
 * step, ns after the trace's base; NULL: no such option. Returns NULL after error(). */
struct cut *cut_new(const struct filter_options *options, const struct windows *times, const char *path);
void cut_free(struct cut *cut);

/* Returns the sink for the first reading, which writes nothing. */
struct sink *cut_scanner(struct cut *cut);
/* Must be called after the first reading. Returns 0, -1 after error(), or what filter_missing() returns if the part
 * would be empty. */
int cut_scanned(struct cut *cut, struct filter_missed *missed);
/* Replaces cut_scanned() for a trace that is merged with others: TIMES and PROGRAM are the times of all the traces'
 * events and of those about the program; --from and --to count within PROGRAM. Returns 0, 1 if the part would be empty,
 * or -1 after error(). */
int cut_scanned_within(struct cut *cut, const struct trace_times *times, const struct trace_times *program);
/* Returns the sink for the second reading, which passes what is in the part to WHOLE. The caller keeps WHOLE. */
struct sink *cut_writer(struct cut *cut, struct sink *whole);
/* Writes what the sink holds back until the trace ends; for callers that do not call the sink's finish(). */
void cut_write_rest(struct cut *cut);
/* Returns 0 if the second reading had enough memory, or -1 after error(). */
int cut_written(const struct cut *cut);

#endif
