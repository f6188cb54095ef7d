/*
 * A sink that passes on a part of a trace. It needs the trace twice: first it finds where the trace begins and ends,
 * what a thread launched, and which flows have both their ends in the part.
 *
 *     cut_new();
 *     a source gives all to cut_scanner();
 *     cut_scanned();
 *     the source gives all to cut_writer();
 *     cut_free();
 *
 * What is in the part:
 *
 *   slices, ranges   whole, if some of them lies in a window, and they are what other filters select
 *   flows            if both their slices are in it
 *   counters         in a window; and the last value before each window, at its start
 *   names of rows    all, but those of other processes and GPUs where one is asked for
 *   metadata         all, and the key CUT_KEY, which says what was cut; where a rank or a process is asked for, what is
 *                    said of other processes is left out, and distributedInfo is that of the rank that is left
 *
 * A flow must follow its slice, as sink.h has it. Memory grows with the rows, the counters, the occurrences of the
 * range, and by a bit for each flow.
 */
#ifndef GPUTRACE_TRACE_CUT_H
#define GPUTRACE_TRACE_CUT_H

#include <stdbool.h>

#include "trace/sink.h"
#include "trace/windows.h"

struct buffer;
struct cut;

/* Appends the value of CUT_KEY: what OPTIONS left of LENGTH ns, from FROM to TO. */
void cut_describe(const struct filter_options *options, int64_t from, int64_t to, uint64_t length, struct buffer *out);

/* OPTIONS and PATH, the trace's name for messages, outlive it. TIMES: those of the range or step, ns after the trace's
 * base; NULL: there is none. NULL after error(). */
struct cut *cut_new(const struct filter_options *options, const struct windows *times, const char *path);
void cut_free(struct cut *cut);

/* The sink for the first reading. It writes nothing. */
struct sink *cut_scanner(struct cut *cut);
/* After that. Returns 0, -1 after error(), or what filter_missing() does where nothing of the trace is wanted. */
int cut_scanned(struct cut *cut, struct filter_missed *missed);
/* The same where the trace is one of several, whose events lie in TIMES, those about the program in PROGRAM: these are
 * what --from and --to count in. Returns 0, 1: nothing of this trace is wanted, or -1 after error(). */
int cut_scanned_within(struct cut *cut, const struct trace_times *times, const struct trace_times *program);
/* The sink for the second reading, which gives WHOLE what is in the part. WHOLE stays the caller's. */
struct sink *cut_writer(struct cut *cut, struct sink *whole);
/* What is held back until the trace ends: for those that do not finish the sink. */
void cut_write_rest(struct cut *cut);
/* Whether all could be written. Returns 0, or -1 after error(): no memory. */
int cut_written(const struct cut *cut);

#endif
