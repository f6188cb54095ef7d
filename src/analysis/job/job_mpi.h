/*
 * The report of a job by the processes of an MPI program: each writes rank reports of traces on its node, and process 0
 * joins them.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_JOB_MPI_H
#define GPUTRACE_ANALYSIS_JOB_JOB_MPI_H

#include "analysis/base/options.h"

struct buffer;

/* Lists DIRECTORY on each node: files that several nodes have (the same inode, size and time) are read once.
 * Process 0 writes the report to OUT. Returns 0, REPORT_FAILED_ON (process 0), or -1 after error(), in all processes
 * but those that know of no error. */
int job_mpi_report(const struct report_options *options, const char *directory, struct buffer *out);

#endif
