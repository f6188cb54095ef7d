/*
 * The table of hangs, with a paragraph for each, for the reports of a trace and of a job.
 */
#ifndef GPUTRACE_ANALYSIS_HANG_HANG_TABLE_H
#define GPUTRACE_ANALYSIS_HANG_HANG_TABLE_H

#include "analysis/hang/hang.h"
#include "analysis/hang/hang_facts.h"
#include "analysis/engine/section.h"

/* The state of section_hang. */
struct hang_state {
    struct hang_facts facts;
    struct hangs hangs;
    bool found; /* `hangs` is filled */
};

/* Returns the hangs of a trace, which the first call finds. Only sections that need section_hang may call it. NULL: no
 * memory, or after error(). */
const struct hangs *hangs_found(const struct trace *trace);

#define HANG_COLUMNS 21
extern const struct column hang_columns[HANG_COLUMNS];

/* Adds the rows of HANGS to ROW's table, which has hang_columns. Hangs that follow from another one come last. */
void hang_fill(struct report_row *row, const struct hangs *hangs);

#endif
