/*
 * A .pftrace (or .pftrace.gz) as a source of events. Memory does not grow with the file.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_SOURCE_H
#define GPUTRACE_TRACE_PFTRACE_SOURCE_H

struct sink;

/* Gives SINK the events of the file PATH ("-": stdin), and finishes it. Where SINK is the analysis, WORKERS threads (0:
 * as many as there are processors) read sections of the file at once. A warning says how many packets are left out, as
 * gputrace would not have written them. Returns 0, or -1 after error(). */
int pftrace_read(const char *path, struct sink *sink, unsigned workers);

#endif
