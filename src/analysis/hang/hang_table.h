/*
 * The table of hangs, with a paragraph for each, and the finding, for the reports of a trace and of a job: "ranks 0, 1
 * and 3 wait in AllReduce #412 (4 MiB) of communicator 0x7f…; rank 2 never entered it: its kernel spin() has been running
 * since 12.3 s".
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

/* The hang that is a finding: it lasts, and does not follow from another one. Returns NULL if there is none. */
const struct hang *hang_worth_finding(const struct hangs *hangs);

/* Writes the sentence and the advice of the finding, each of FINDING_TEXT bytes. The advice is "" if that of the rule
 * fits. Returns 0, or -1: no memory. */
int hang_write_finding(char *text, char *advice, const struct hangs *hangs, const struct hang *hang);

#endif
