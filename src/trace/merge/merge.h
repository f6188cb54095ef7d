/*
 * Several traces become one: those of the ranks of a job, as a rule.
 *
 *     merge = merge_new(&options);
 *     merge_scan(merge);             // reads all traces once
 *     merge_host(merge, i)->clock    // may be set now
 *     merge_write(merge, &summary);  // reads them again, and writes
 *     merge_free(merge);
 *
 * What may be the same in two traces and means different things gets new numbers: processes, rows of GPUs, devices,
 * correlations, flows, asynchronous ranges, call stacks. Processes keep their pids as far as no earlier one has them.
 * GPUs of one host with one UUID are one; those without a UUID are different ones. Rows are ordered by rank, and their
 * names say rank and host.
 *
 * Several threads read a trace each. Memory grows with the rows, the metadata and the kernels of the traces, not with
 * their events: what a thread writes lies in a temporary file beside the output until its turn comes. The output does
 * not depend on the number of threads.
 */
#ifndef GPUTRACE_TRACE_MERGE_MERGE_H
#define GPUTRACE_TRACE_MERGE_MERGE_H

#include "trace/merge/merge_trace.h"

/* OPTIONS and all that it has outlive it. NULL after error(). */
struct merge *merge_new(const struct merge_options *options);
void merge_free(struct merge *merge);

/* Reads all traces. Returns 0, or -1 after an error() for each that cannot be read. */
int merge_scan(struct merge *merge);

/* The hosts that traces are of, in the order of their lowest ranks. */
size_t merge_host_count(const struct merge *merge);
struct merge_host *merge_host(struct merge *merge, size_t index);

/* Trace NUMBER, in the order of the output. Sets *HOST to the host of those of its processes that name no other, and
 * *BASE to the time that its times count from, ns of CLOCK_REALTIME. */
const struct merge_input *merge_trace(const struct merge *merge, size_t number, size_t *host, uint64_t *base);

/* Writes the output. Returns 0, or -1 after error(): then the output is as it was. */
int merge_write(struct merge *merge, struct merge_summary *summary);

#endif
