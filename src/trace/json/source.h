/*
 * A trace in JSON as a source of events.
 */
#ifndef GPUTRACE_TRACE_JSON_SOURCE_H
#define GPUTRACE_TRACE_JSON_SOURCE_H

struct sink;

/* Gives SINK the events of the file PATH ("-": stdin, if SINK is the analysis), and finishes it. WORKERS threads read
 * ahead, 0: as many as there are processors. Sinks that write files need names of rows, ids of flows and metadata
 * first: for them the file is read twice. Events that SINK has no form for are left out, with a warning. Returns 0, or
 * -1 after error(). */
int json_read(const char *path, struct sink *sink, unsigned workers);

#endif
