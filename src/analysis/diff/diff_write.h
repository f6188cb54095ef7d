/*
 * The formats of `gputrace diff`. Tables are written by the report's renderers.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_WRITE_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_WRITE_H

#include "analysis/diff/diff_conditions.h"
#include "analysis/diff/diff_rows.h"

struct buffer;
struct table;

/* OUTCOMES are those of all conditions. These return 0, or -1 after error(). */
int diff_write(const struct diff *diff, const struct diff_outcome *outcomes, struct buffer *out);
int diff_write_junit(const struct diff *diff, const struct diff_outcome *outcomes, struct buffer *out);

/* --- tables --- */

/* The columns of a table and the table itself, which a renderer may write at once. */
struct diff_table {
    struct table *table;
    struct column *columns;
    char title[128];
};

/* What explains the difference of the whole. Returns 0, or -1: no memory. Released in either case. */
int diff_table_parts(struct diff_table *made, const struct diff *diff);
/* The rows of a section that changed, or all of them: first what matters most to the whole. Likewise. */
int diff_table_section(struct diff_table *made, const struct diff *diff, unsigned section);
void diff_table_release(struct diff_table *made);
/* Whether --columns names columns of these tables. Returns 0, or -1 after error(). */
int diff_check_columns(const struct report_options *options);

#endif
