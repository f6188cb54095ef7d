/*
 * Writes a comparison as a table, CSV, JSON, Markdown or HTML.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_WRITE_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_WRITE_H

#include "analysis/diff/diff_conditions.h"
#include "analysis/diff/diff_rows.h"

struct buffer;

/* Writes the comparison in any format but JUnit. OUTCOMES are those of all conditions. Returns 0, or -1 after error().
 */
int diff_write(const struct diff *diff, const struct diff_outcome *outcomes, struct buffer *out);

struct table;

/* A table with its columns, ready for a renderer. */
struct diff_table {
    struct table *table;
    struct column *columns;
    char title[128];
};

/* Makes the table of the terms of the difference. Returns 0, or -1: no memory. MADE is released in either case. */
int diff_table_terms(struct diff_table *made, const struct diff *diff);
/* Makes the table of the rows of a section that changed, or of all rows, the most important first. Returns and releases
 * as above. */
int diff_table_section(struct diff_table *made, const struct diff *diff, unsigned section);
void diff_table_release(struct diff_table *made);
/* Checks that --columns names columns of these tables. Returns 0, or -1 after error(). */
int diff_check_columns(const struct report_options *options);

#endif
