/*
 * Writes a comparison as a table, CSV, JSON, Markdown or HTML.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_WRITE_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_WRITE_H

#include "analysis/diff/diff_conditions.h"
#include "analysis/diff/diff_rows.h"

struct buffer;

/* Writes the comparison in any format except JUnit. OUTCOMES has one for each condition. Returns 0, or -1 after
 * error(). */
int diff_write(const struct diff *diff, const struct diff_outcome *outcomes, struct buffer *out);

/* Checks that --columns names columns of the tables of `gputrace diff`. Returns 0, or -1 after error(). */
int diff_check_columns(const struct report_options *options);

#endif
