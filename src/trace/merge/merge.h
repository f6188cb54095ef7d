/*
 * Merges several traces, usually those of a job's ranks, into one.
 *
 *     merge = merge_new(&options);
 *     merge_scan(merge);             // reads all traces once
 *     merge_host(merge, i)->clock    // may be set now
 *     merge_write(merge, &summary);  // reads them again, and writes
 *     merge_free(merge);
 *
 * Numbers that are unique only within a trace get new numbers: processes, rows of GPUs, devices, correlations, flows,
 * asynchronous ranges, call stacks. A process keeps its pid unless an earlier one has it. GPUs of a host with the same
 * UUID are one GPU; GPUs without a UUID are all different. Rows are ordered by rank, and their names include rank and
 * host.
 *
 * Several threads read traces, one trace each. Memory grows with the rows, the metadata and the kernels of the traces,
 * not with their events: a thread writes to a temporary file beside the output, which is appended to the output in
 * order. The output does not depend on the number of threads.
 */
#ifndef GPUTRACE_TRACE_MERGE_MERGE_H
#define GPUTRACE_TRACE_MERGE_MERGE_H

#include "trace/merge/merge_trace.h"

/* OPTIONS and all it points to must outlive the merge. Returns NULL after error(). */
struct merge *merge_new(const struct merge_options *options);
void merge_free(struct merge *merge);

/* Reads all traces. Returns 0, or -1 after an error() for each trace that cannot be read. */
int merge_scan(struct merge *merge);

/* The hosts of all traces, in the order of their lowest ranks. */
size_t merge_host_count(const struct merge *merge);
struct merge_host *merge_host(struct merge *merge, size_t index);

/* Returns trace NUMBER in the order of the output. Sets *HOST to the index of the host of the processes that do not
 * name another, and *BASE to the base of the trace's times, ns of CLOCK_REALTIME. */
const struct merge_input *merge_trace(const struct merge *merge, size_t number, size_t *host, uint64_t *base);

/* Writes the output. Returns 0, or -1 after error(); then the file is as before. */
int merge_write(struct merge *merge, struct merge_summary *summary);

#endif
