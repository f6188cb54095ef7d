/*
 * What a trace can be read from: the spools of a run, a file in JSON, a .pftrace.
 */
#ifndef GPUTRACE_TRACE_BUILD_SOURCES_H
#define GPUTRACE_TRACE_BUILD_SOURCES_H

#include "trace/build/conversion.h"

struct sink;

struct sources_options {
    unsigned workers;                /* threads that read; 0: as many as there are processors */
    const struct frame_namer *namer; /* of the call stacks in spools; NULL: they stay addresses */
};

/* Gives SINK, made by fields_sink_new(), the events of PATH: a directory of spools or a trace file ("-": stdin), plain
 * or gzip. Returns 0, or -1 after error(). */
int sources_read(const char *path, struct sink *sink, const struct sources_options *options);

/* Writes the trace in the file INPUT as OUTPUT, whose name tells the format (trace/format.h), which has to be of
 * events. Of SUMMARY sets events and bytes. Returns 0, or -1 after error(): then OUTPUT is as it was. */
int convert_file(const char *input, const char *output, struct convert_summary *summary);

/* Whether the file PATH ("-": stdin) begins as a .pftrace, plain or gzip (gzip/source.h). Prints nothing. */
bool sources_is_pftrace(const char *path);

#endif
