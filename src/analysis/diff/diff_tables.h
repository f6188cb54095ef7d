/*
 * The tables of `gputrace diff`, which the report's renderers write.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_TABLES_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_TABLES_H

#include "analysis/diff/diff_rows.h"

struct table;

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
