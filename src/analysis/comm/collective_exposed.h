/*
 * How long communication was exposed: ns of its kernels in which its GPU computed nothing.
 */
#ifndef GPUTRACE_ANALYSIS_COMM_COLLECTIVE_EXPOSED_H
#define GPUTRACE_ANALYSIS_COMM_COLLECTIVE_EXPOSED_H

#include <stddef.h>

struct collective;
struct trace;

/* Sets `exposed` of COUNT operations by trace.timeline. Returns 0, or -1: no memory, or after error(). */
int collectives_expose(struct collective *items, size_t count, const struct trace *trace);

#endif
