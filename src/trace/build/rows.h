/* The rows of the trace: their names and order. */
#ifndef GPUTRACE_TRACE_BUILD_ROWS_H
#define GPUTRACE_TRACE_BUILD_ROWS_H

struct conversion;
struct process;
/* All below write what they are named after, and give 0, or -1 after error(). */
int write_rows(struct conversion *conversion, struct process *process);

#endif
