/*
 * Writes the table of hangs, with a paragraph for each, and the finding, for the reports of a trace and of a job:
 * "ranks 0, 1 and 3 wait in AllReduce #412 (4 MiB) of communicator 0x7f…; rank 2 never entered it: its kernel spin()
 * has been running since 12.3 s".
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

/* Returns the hangs of a trace, which the first call computes. Only sections that need section_hang may call this.
 * Returns NULL without memory, or after error(). */
const struct hangs *hangs_found(const struct trace *trace);

#define HANG_COLUMNS 21
extern const struct column hang_columns[HANG_COLUMNS];

/* Adds a row for each hang to ROW's table, whose columns are hang_columns. Hangs that another hang causes come last. */
void hang_fill(struct report_row *row, const struct hangs *hangs);

/* Returns the first hang that lasts long enough for a finding and is not caused by another hang, or NULL. */
const struct hang *hang_worth_finding(const struct hangs *hangs);

/* Writes the finding's sentence to TEXT and its advice to ADVICE, FINDING_TEXT bytes each. ADVICE is "" if the rule's
 * own advice fits. Returns 0, or -1: no memory. */
int hang_write_finding(char *text, char *advice, const struct hangs *hangs, const struct hang *hang);

#endif
