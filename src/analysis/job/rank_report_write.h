/*
 * Writes the rank report of a trace.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_RANK_REPORT_WRITE_H
#define GPUTRACE_ANALYSIS_JOB_RANK_REPORT_WRITE_H

#include <stdbool.h>
#include <stdint.h>

struct report_options;

#define RANK_REPORT_NONE 1
/* Reads the trace at PATH and writes its rank report to FILE, which is empty. SECTIONS: which of rank_report_sections()
 * to write rows of, REPORT_BIT() each. SEVERAL: there are other traces, so it is no error if filters select nothing of
 * this one. Returns 0, or -1 after error(). Returns RANK_REPORT_NONE and writes nothing if the trace has no ranks. */
int rank_report_write(const struct report_options *options, uint64_t sections, const char *path, int file,
                      bool several);

/* Opens the file at PATH if it is a rank report. Otherwise, writes the rank report of this trace, one of several, to a
 * temporary file. Sets *FILE, which the caller closes unless it is -1. Returns as rank_report_write(). */
int rank_report_open(const struct report_options *options, uint64_t sections, const char *path, int *file);

#endif
