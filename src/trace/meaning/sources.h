/*
 * Reads a trace from any source: the spools of a run, a JSON file, a .pftrace.
 */
#ifndef GPUTRACE_TRACE_MEANING_SOURCES_H
#define GPUTRACE_TRACE_MEANING_SOURCES_H

#include "trace/meaning/base/conversion.h"

struct buffer;
struct fields_receiver;
struct interner;

struct sources_options {
    unsigned workers;                /* threads that read; 0: as many as there are processors */
    const struct frame_namer *namer; /* for call stacks in spools; NULL: frames stay addresses */
};

/* Refuses a file that is not a trace but is often taken for one: a database, a report of Nsight Systems, an archive.
 * Returns 0, or -1 after error(), which says what the file is and the way out. */
int sources_check(const char *path);

/* Writes the events of PATH to SINK. PATH is a directory of spools or a trace file ("-": stdin), plain or gzip.
 * Returns 0, or -1 after error(). */
int sources_read(const char *path, struct sink *sink, const struct sources_options *options);
/* As sources_read(), but passes each event's fields to RECEIVER; their texts are interned in STRINGS. */
int sources_read_fields(const char *path, struct interner *strings, const struct fields_receiver *receiver,
                        const struct sources_options *options);

/* Converts the trace file INPUT to OUTPUT. The name of OUTPUT selects the format (trace/sink.h), which must be one of
 * events. Sets only events and bytes of SUMMARY. Returns 0, or -1 after error(): then OUTPUT is as it was. */
int convert_file(const char *input, const char *output, struct convert_summary *summary);

/* As convert_file(), for the events that PART selects, in TIMES (cut.h). If there are none, returns what
 * filter_missing() returns. */
struct filter_missed;
struct filter_options;
struct windows;
int convert_part(const char *input, const char *output, const struct filter_options *part, const struct windows *times,
                 struct filter_missed *missed, struct convert_summary *summary);

/* Returns how many bytes the trace file PATH unpacks to; an estimate if that is more than about MOST, since no more is
 * unpacked to count. Returns 0 if the file cannot be read. */
uint64_t sources_unpacked_size(const char *path, uint64_t most);

/* Whether the file PATH ("-": stdin) begins as a .pftrace, plain or gzip (trace/gzip/gzip.h). Prints nothing. */
bool sources_is_pftrace(const char *path);
/* Whether the file begins as a trace of any format, other than a spool. Prints nothing. */
bool sources_is_trace(const char *path);
/* As sources_is_trace(), for a file that the user did not name: JSON must also have a key that traces have. */
bool sources_seems_trace(const char *path);

/*
 * Messages (common/log.h) that a thread does not print at once: those of a trace that is read while other traces are
 * read, and those of a first reading, which the second reading repeats.
 */
/* From now on appends the messages of this thread to TEXT, as lines. NULL: prints them. */
void messages_hold(struct buffer *text);
/* From now on drops all messages of this thread except errors, or, if QUIET is false, none. Returns the previous
 * setting. */
bool messages_quiet(bool quiet);

#endif
