/*
 * A trace in JSON as calls of a writer.
 */
#ifndef GPUTRACE_TRACE_JSON_REPLAY_H
#define GPUTRACE_TRACE_JSON_REPLAY_H

struct writer;

/* Writes the trace in the file PATH with WRITER, and finishes it. Events that WRITER has no form for are left out, with
 * a warning. Returns 0, or -1 after error(). */
int replay_json(const char *path, struct writer *writer);

#endif
