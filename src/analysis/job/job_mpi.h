/*
 * Makes the report of a job with the processes of an MPI program: each writes rank reports of traces on its node, and
 * process 0 joins them.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_JOB_MPI_H
#define GPUTRACE_ANALYSIS_JOB_JOB_MPI_H

#include "analysis/base/options.h"

struct buffer;

/* Reports on the traces in DIRECTORY on each node. A file that several nodes have (the same inode, size and time) is
 * read once. Process 0 writes the report to OUT. In process 0, returns 0, REPORT_FAILED_ON, or -1 after error(). Other
 * processes return 0, or -1 after an error() of their own. */
int job_mpi_report(const struct report_options *options, const char *directory, struct buffer *out);

#endif
