/*
 * `gputrace diff`: what changed from some traces of a program to others, and how sure that is.
 *
 * diff_rows reads the traces, one at a time, and joins the rows of their sections; diff_judge finds out which rows
 * differ; diff what explains the difference of the whole; diff_conditions what --fail-on asks; diff_tables and
 * diff_write write all that.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_H

#include "analysis/diff/diff_rows.h"

struct buffer;

/* Compares the traces, at least one on each side, and writes the result to OUT. Returns 0; 1 if a condition is met; or
 * -1 after error(). */
int diff_files(struct diff_options *options, struct buffer *out);

#endif
