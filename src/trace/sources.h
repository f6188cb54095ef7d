/*
 * Files as sources of events. PATH may be "-", stdin. The functions give SINK the events of the file and finish it.
 * WORKERS: threads that read ahead, 0: as many as there are processors. They return 0, or -1 after error().
 */
#ifndef GPUTRACE_TRACE_SOURCES_H
#define GPUTRACE_TRACE_SOURCES_H

struct sink;

/* JSON. Sinks that write files need names of rows, ids of flows and metadata first: for them the file is read twice,
 * and must not be stdin. Events that SINK has no form for are left out, with a warning. */
int json_read(const char *path, struct sink *sink, unsigned workers);

/* A .pftrace or .pftrace.gz. Sections of it are read by several threads at once if SINK is the analysis. A warning says
 * how many packets are left out, because gputrace does not write such packets. */
int pftrace_read(const char *path, struct sink *sink, unsigned workers);

#endif
