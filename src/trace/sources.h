/*
 * Reads trace files. The functions pass all events of the file PATH ("-": stdin) to SINK and finish SINK. WORKERS is
 * the number of threads that read ahead; 0: one for each processor. They return 0, or -1 after error().
 */
#ifndef GPUTRACE_TRACE_SOURCES_H
#define GPUTRACE_TRACE_SOURCES_H

struct sink;

/* Reads JSON. A sink that writes a file needs names of rows, ids of flows and metadata before the events: for such a
 * sink the file is read twice, and must not be stdin. A warning counts the events that SINK has no form for. */
int json_read(const char *path, struct sink *sink, unsigned workers);

/* Reads a .pftrace or .pftrace.gz. Several threads read sections at once if SINK is the analysis. A warning counts the
 * packets that are left out because gputrace does not write packets of their type. */
int pftrace_read(const char *path, struct sink *sink, unsigned workers);

#endif
