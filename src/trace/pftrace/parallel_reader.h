/*
 * `gputrace report` on a .pftrace: several threads understand its sections at once, one hands on what they tell, in the
 * file's order. Memory does not grow with the file.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_PARALLEL_READER_H
#define GPUTRACE_TRACE_PFTRACE_PARALLEL_READER_H

struct interner;
struct event_sink;

/* As json_read(). */
int pftrace_read(const char *path, struct interner *strings, const struct event_sink *buffer);

#endif
