/*
 * The report of a job, from traces of its ranks or from their rank reports (rank_report.h). Traces are turned into rank
 * reports first, so both have the same result.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_JOB_REPORT_H
#define GPUTRACE_ANALYSIS_JOB_JOB_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/base/options.h"

struct buffer;

/* Checks the options for a report of the COUNT files PATHS that may be a job, before any file is read. COUNT is
 * SIZE_MAX if the files are not listed yet. Returns 0, or -1 after error(). */
int job_report_check(const struct report_options *options, const char *const *paths, size_t count);

/* Writes the report of the job to OUT. Returns 0, REPORT_FAILED_ON (report.h), or -1 after error(). Returns
 * JOB_REPORT_NONE and writes nothing if the files are not traces of different ranks of one job. */
#define JOB_REPORT_NONE 2
int job_report_files(const struct report_options *options, const char *const *paths, size_t count, struct buffer *out);

/* Writes the report of a job from the rank reports at PATHS, which were made from the files NAMES; returns as
 * job_report_files(). ARE_TRACES: NAMES are traces, which can have reports of their own; otherwise files of several
 * jobs are an error. */
int job_report_reduce(const struct report_options *options, const char *const *paths, const char *const *names,
                      bool are_traces, size_t count, struct buffer *out);

/* Writes the rank report of the trace at PATH to the file OUTPUT. Returns 0, or -1 after error(). */
int job_report_map(const struct report_options *options, const char *path, const char *output);

#endif
