/*
 * A trace file in another format: JSON and .pftrace, each plain or gzip, into each other.
 */
#ifndef GPUTRACE_TRACE_TRANSCODE_H
#define GPUTRACE_TRACE_TRANSCODE_H

#include <stdbool.h>
#include <stdint.h>

struct transcode_summary {
    uint64_t events; /* as struct convert_summary has them */
    uint64_t bytes;  /* of the finished file */
};

/* Whether PATH ("-": stdin) begins as a .pftrace, plain or gzip (gzip/peek.h). Prints nothing. */
bool transcode_is_pftrace(const char *path);

/* Reads the trace INPUT and writes OUTPUT, whose name tells its format, as writer_format_for() has it. What cannot be
 * told in the other format is counted in a warning. Gives 0, or -1 after error(): then OUTPUT is as it was. */
int transcode(const char *input, const char *output, struct transcode_summary *summary);

#endif
