/* Writes the rows of the table of findings. section_findings.c finds and sorts the findings. */
#ifndef GPUTRACE_ANALYSIS_SUMMARY_FINDINGS_TABLE_H
#define GPUTRACE_ANALYSIS_SUMMARY_FINDINGS_TABLE_H

#include <stdbool.h>

#include "common/array.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/section.h"

struct buffer;
struct idle;

#define FINDINGS_COLUMNS 17
extern const struct column findings_columns[FINDINGS_COLUMNS];

/* Whether RULE cannot be checked, because --trace left out all events of a source that it needs. */
bool findings_is_blind(const struct rule *rule, const struct trace *trace);

/* These add a row: for a finding; for the rules that could not be checked, if any; for a trace without known GPU work,
 * with the kinds of its events. They return 0, or -1: no memory. */
int findings_show(struct report_row *row, const struct findings *findings, const struct finding *finding);
int findings_show_blind(struct report_row *row);
int findings_show_unknown(struct report_row *row);

/* How long threads were in calls, by function. */
struct called {
    ARRAY(int64_t) by_name; /* ns, by index in trace.strings */
};

/* Sets the text that is shown for a trace without findings: how busy the busiest GPU was, and the largest cause of its
 * idle time (IDLE may be NULL); if nothing ran on a GPU, the function in which threads were longest. */
void findings_show_none(struct report_row *row, const struct idle *idle, const struct called *called);

/* Writes the first line of a report to LINE, NUL-terminated: the program, the GPUs, the time, how the program ended,
 * and how busy the GPUs were. FINDINGS are those of the trace at PATH. Returns 0, or -1: no memory. */
int findings_headline(struct buffer *line, const struct findings *findings, const char *path);

#endif
