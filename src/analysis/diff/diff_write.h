/*
 * The formats of `gputrace diff`. Tables are written by the report's renderers.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_WRITE_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_WRITE_H

#include "analysis/diff/diff_conditions.h"
#include "analysis/diff/diff_rows.h"

struct buffer;

/* OUTCOMES are those of all conditions. These return 0, or -1 after error(). */
int diff_write(const struct diff *diff, const struct diff_outcome *outcomes, struct buffer *out);
int diff_write_junit(const struct diff *diff, const struct diff_outcome *outcomes, struct buffer *out);

#endif
