/*
 * The first reading of a trace for a filter (filter.h), the scan: it finds the windows of a range or step, and the
 * calls that are selected.
 */
#ifndef GPUTRACE_ANALYSIS_SELECTION_FILTER_SCAN_H
#define GPUTRACE_ANALYSIS_SELECTION_FILTER_SCAN_H

#include "analysis/selection/filter.h"

/* Sets what FIRST must collect during the scan. */
void filter_scan_want(const struct filter_options *options, struct trace *first);

/* Adds the times of the range or step in OPTIONS to WINDOWS, in order. FIRST is the scanned trace PATH. Returns 0, -1
 * after error(), or the result of filter_missing() if the trace has no such range or step. */
int filter_scan_windows(const struct filter_options *options, const struct trace *first, const char *path,
                        struct filter_missed *missed, struct windows *windows);

/* Sets up the filter by FIRST, the scanned trace PATH, after trace_finish(), and sets the window of the report's trace.
 * Returns 0, or -1 after error(), which is also the result if nothing of the only trace is selected. */
int filter_scan_apply(struct filter *filter, const struct trace *first, const char *path);

#endif
