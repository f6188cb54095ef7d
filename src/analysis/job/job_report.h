/*
 * The report of a job, from traces of its ranks or from their parts (job_part.h). The former are made into parts first,
 * several at once, so both give the same bytes.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_JOB_REPORT_H
#define GPUTRACE_ANALYSIS_JOB_JOB_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/base/options.h"

struct buffer;

/* Whether the options fit together for a report of COUNT files, SIZE_MAX: not counted yet, which may be a job, before
 * any is read. Returns 0, or -1 after error(). */
int job_report_check(const struct report_options *options, const char *const *paths, size_t count);

/* Writes the report to OUT. Returns 0, REPORT_FAILED_ON (report.h), -1 after error(), or JOB_REPORT_NONE: the files are
 * no traces of different ranks of one job, and nothing was written. */
#define JOB_REPORT_NONE 2
int job_report_files(const struct report_options *options, const char *const *paths, size_t count, struct buffer *out);

/* The same of the parts at PATHS, which were made of the files NAMES. ARE_TRACES: all of these can be reported by
 * themselves; else files of several jobs are an error. */
int job_report_parts(const struct report_options *options, const char *const *paths, const char *const *names,
                     bool are_traces, size_t count, struct buffer *out);

/* Makes the part of the trace at PATH at the file OUTPUT. Returns 0, or -1 after error(). */
int job_report_part(const struct report_options *options, const char *path, const char *output);

#endif
