/*
 * The table of hangs (analysis/model/hang.h): a paragraph for each. Of section_hang, and of the report of a job.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_HANG_TABLE_H
#define GPUTRACE_ANALYSIS_RANKS_HANG_TABLE_H

#include "analysis/model/hang.h"
#include "analysis/model/section.h"

#define HANG_COLUMNS 21
extern const struct column hang_columns[HANG_COLUMNS];

/* Adds the rows of HANGS to ROW's table, which has these columns: causes come before what follows from them. Returns 0,
 * or -1: no memory. */
int hang_fill(struct report_row *row, const struct hangs *hangs);

#endif
