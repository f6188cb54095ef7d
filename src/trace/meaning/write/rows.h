/* Names and order of processes, threads and streams. */
#ifndef GPUTRACE_TRACE_MEANING_WRITE_ROWS_H
#define GPUTRACE_TRACE_MEANING_WRITE_ROWS_H

struct conversion;
struct process;

/* Writes the rows of a process, before the events. Returns 0, or -1 after error(). */
int write_rows(struct conversion *conversion, struct process *process);

#endif
