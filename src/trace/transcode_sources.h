/*
 * The readers of this room: each calls a writer's functions for what is in its file, in their order.
 */
#ifndef GPUTRACE_TRACE_TRANSCODE_SOURCES_H
#define GPUTRACE_TRACE_TRANSCODE_SOURCES_H

struct writer;

/* Both give 0, or -1 after error(). The writer is finished. */
int replay_pftrace(const char *path, struct writer *writer);
int replay_json(const char *path, struct writer *writer);

#endif
