/*
 * What `gputrace diff` says in sentences, the same in all formats.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_WORDS_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_WORDS_H

#include "analysis/diff/diff_rows.h"

struct buffer;

/* "sure", "likely" or "not sure"; "slower", "appeared" and so on, "" for UNCHANGED; "larger" … as an enum says. */
const char *diff_sure_word(enum diff_sure sure);
const char *diff_change_word(enum diff_change change);

/* The growth of a figure in per cent. */
double diff_percent(double log_value);

/* "2.1 → 2.4 ms", with digits enough to tell them apart. */
void diff_write_change(struct buffer *out, double before, double after, enum column_type type);

/* "kernel scale". */
void diff_write_row(struct buffer *out, const struct diff *diff, const struct diff_row *row);
/* What a row's own change is: "kernel scale, 2.1 → 2.4 ms per launch (+14 %, 300 launches, sure)". */
void diff_write_row_change(struct buffer *out, const struct diff *diff, const struct diff_row *row);
/* "GPU idle", "kernel": what kind of part it is, and its name, "" if it has none. */
const char *diff_part_kind(const struct diff_part *part);

/* How much longer all takes and why, in one line; into an empty buffer. */
void diff_write_summary(struct buffer *out, const struct diff *diff);

typedef void diff_say(void *context, const char *text);
/* Says what LINE has, a buffer in memory, and empties it. */
void diff_end_line(struct buffer *line, diff_say *say, void *context);
/* Says the lines above the tables: the summary, times of GPUs, notes. */
void diff_lines(const struct diff *diff, diff_say *say, void *context);
/* Says each thing that a reader should know: what could not be compared, other GPUs, clocks. */
void diff_notes(const struct diff *diff, diff_say *say, void *context);

#endif
