/*
 * Writes the rank report of a trace.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_RANK_REPORT_WRITE_H
#define GPUTRACE_ANALYSIS_JOB_RANK_REPORT_WRITE_H

#include <stdbool.h>
#include <stdint.h>

struct report_options;

#define RANK_REPORT_NONE 1
/* Reads the trace at PATH and writes its rank report to FILE, which is empty. SECTIONS: REPORT_BIT() of the sections of
 * rank_report_sections() whose rows it has. SEVERAL: there are other traces, so that filters may select nothing of this
 * one. Returns 0; RANK_REPORT_NONE if the trace has no ranks, and nothing was written; or -1 after error(). */
int rank_report_write(const struct report_options *options, uint64_t sections, const char *path, int file,
                      bool several);

/* Opens the rank report at PATH, or writes that of the trace there, one of several, to a temporary file. Sets *FILE,
 * which the caller closes unless it is -1. Returns as rank_report_write(). */
int rank_report_open(const struct report_options *options, uint64_t sections, const char *path, int *file);

#endif
