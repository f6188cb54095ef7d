/* The table of findings: section_findings.c finds them and puts them in order, this writes their rows. */
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

/* Whether the rule cannot be checked because --trace left out the events that it needs. */
bool findings_is_blind(const struct rule *rule, const struct trace *trace);

/* Add a row: for a finding; for the rules that could not be checked; for a trace without GPU work, which says what its
 * events are. Each returns 0, or -1: no memory. */
int findings_show(struct report_row *row, const struct findings *findings, const struct finding *finding);
int findings_show_blind(struct report_row *row);
int findings_show_unknown(struct report_row *row);

/* How long threads were in calls. */
struct called {
    ARRAY(int64_t) by_name; /* ns, by index in trace.strings */
};

/* Sets the text in place of rows for a trace without findings: how busy the GPU is that works most, and why it was idle
 * for longest (IDLE); if nothing ran on a GPU, in which calls threads were for longest. */
void findings_show_none(struct report_row *row, const struct idle *idle, const struct called *called);

/* Writes the first line of a report to LINE, with a NUL: what ran, on what, how long, how it ended, and how busy the
 * GPUs were. FINDINGS are those of the file at PATH. Returns 0, or -1: no memory. */
int findings_headline(struct buffer *line, const struct findings *findings, const char *path);

#endif
