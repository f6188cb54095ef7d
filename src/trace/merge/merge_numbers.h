/*
 * New numbers, the order of processes, names of rows, and times by the clocks of hosts.
 */
#ifndef GPUTRACE_TRACE_MERGE_MERGE_NUMBERS_H
#define GPUTRACE_TRACE_MERGE_MERGE_NUMBERS_H

#include "trace/merge/merge_trace.h"

/* The new number of a device; itself where it is none of the trace. */
int64_t merge_device_new(const struct merge_trace *trace, int64_t id);

/* Numbers everything, once all traces were read. Returns 0, or -1 after error(). */
int merge_number(struct merge *merge);

/* The time of the output that a time of the process is; itself where PROCESS is NULL. */
uint64_t merge_time(const struct merge *merge, const struct merge_process *process, uint64_t time);
/* Sets times of the output, once clocks are known. */
void merge_find_times(struct merge *merge);
/* Gives SINK the names of all rows. */
int merge_write_rows(const struct merge *merge, struct sink *sink);

#endif
