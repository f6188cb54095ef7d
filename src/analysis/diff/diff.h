/*
 * `gputrace diff`: finds what changed from some traces of a program to others, and how sure the changes are.
 *
 * diff_rows reads the traces, one at a time, and joins the rows of their sections. diff_judge finds which rows differ.
 * diff explains the difference of the whole run. diff_conditions checks --fail-on. diff_words and diff_notes write
 * sentences, diff_write the whole result.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_H

#include "analysis/diff/diff_rows.h"

struct buffer;

/* Compares the traces of OPTIONS, at least one on each side, and writes the result to OUT. Returns 0; 1 if a condition
 * of --fail-on is met; or -1 after error(). */
int diff_files(struct diff_options *options, struct buffer *out);

#endif
