/*
 * `gputrace report` on a .pftrace: several threads understand its sections at once, one hands on what they tell, in the
 * file's order. Memory does not grow with the file.
 */
#ifndef GPUTRACE_CLI_REPORT_PFTRACE_H
#define GPUTRACE_CLI_REPORT_PFTRACE_H

struct interner;
struct event_sink;

/* As json_read(). */
int report_pftrace(const char *path, struct interner *strings, const struct event_sink *sink);

#endif
