/*
 * What a trace can be read from: the spools of a run, a file in JSON, a .pftrace.
 */
#ifndef GPUTRACE_TRACE_MEANING_SOURCES_H
#define GPUTRACE_TRACE_MEANING_SOURCES_H

#include "trace/meaning/base/conversion.h"

struct fields_receiver;
struct interner;

struct sources_options {
    unsigned workers;                /* threads that read; 0: as many as there are processors */
    const struct frame_namer *namer; /* of the call stacks in spools; NULL: they stay addresses */
};

/* Whether PATH is not a file of another kind that is taken for a trace: a database, a report of Nsight Systems, an
 * archive. Returns 0, or -1 after error(), which says what it is and the way out. */
int sources_check(const char *path);

/* Gives SINK the events of PATH: a directory of spools or a trace file ("-": stdin), plain or gzip. Returns 0, or -1
 * after error(). */
int sources_read(const char *path, struct sink *sink, const struct sources_options *options);
/* The same of the events' fields, whose texts are put into STRINGS, for RECEIVER. */
int sources_read_fields(const char *path, struct interner *strings, const struct fields_receiver *receiver,
                        const struct sources_options *options);

/* Writes the trace in the file INPUT as OUTPUT, whose name tells the format (trace/sink.h), which has to be of
 * events. Of SUMMARY sets events and bytes. Returns 0, or -1 after error(): then OUTPUT is as it was. */
int convert_file(const char *input, const char *output, struct convert_summary *summary);

/* The same of a part of it, in these TIMES (cut.h). Returns what filter_missing() does if nothing of it is wanted. */
struct filter_missed;
struct filter_options;
struct windows;
int convert_part(const char *input, const char *output, const struct filter_options *part, const struct windows *times,
                 struct filter_missed *missed, struct convert_summary *summary);

/* How many bytes the trace file PATH has when it is unpacked. More than about MOST bytes are not unpacked to find out:
 * beyond that it is an estimate. 0: it cannot be read. */
uint64_t sources_unpacked_size(const char *path, uint64_t most);

/* Whether the file PATH ("-": stdin) begins as a .pftrace, plain or gzip (trace/gzip/gzip.h). Prints nothing. */
bool sources_is_pftrace(const char *path);
/* The same of a trace of any format but a spool. */
bool sources_is_trace(const char *path);
/* The same of a file that nobody named: JSON may be anything, so it must have something that traces have. */
bool sources_seems_trace(const char *path);

#endif
