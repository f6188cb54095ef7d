/*
 * Assigns new numbers and the order of processes, names rows, and corrects times by the hosts' clocks.
 */
#ifndef GPUTRACE_TRACE_MERGE_MERGE_NUMBERS_H
#define GPUTRACE_TRACE_MERGE_MERGE_NUMBERS_H

#include "trace/merge/merge_trace.h"

/* Returns the new number of a device, or ID if the trace does not have the device. */
int64_t merge_device_new(const struct merge_trace *trace, int64_t id);

/* Assigns all new numbers. Must be called after all traces were read. Returns 0, or -1 after error(). */
int merge_number(struct merge *merge);

/* Returns TIME of a process by the clock of the output, or TIME itself if PROCESS is NULL. */
uint64_t merge_time(const struct merge *merge, const struct merge_process *process, uint64_t time);
/* Sets base and times of the output. Must be called after the hosts' clocks are set. */
void merge_find_times(struct merge *merge);
/* Writes the names of all rows to SINK. Returns 0, or -1 after error(). */
int merge_write_rows(const struct merge *merge, struct sink *sink);

#endif
