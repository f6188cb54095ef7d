/*
 * Writes the sentences of `gputrace diff`, which all formats share.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_WORDS_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_WORDS_H

#include "analysis/diff/diff_rows.h"

struct buffer;

/* Return the words of the enums: "sure", "likely" or "not sure"; "slower", "appeared" and so on, "" for UNCHANGED. */
const char *diff_sure_word(enum diff_sure sure);
const char *diff_change_word(enum diff_change change);

/* Returns the growth in per cent of a figure whose logarithm grew by LOG_VALUE. */
double diff_percent(double log_value);

/* Writes "2.1 → 2.4 ms", with enough digits to distinguish the numbers. */
void diff_write_change(struct buffer *out, double before, double after, enum column_type type);

/* Writes the noun and the name of a row: "kernel scale". */
void diff_write_row(struct buffer *out, const struct diff *diff, const struct diff_row *row);
/* Writes the change of a row: "kernel scale, 2.1 → 2.4 ms per launch (+14 %, 300 launches, sure)". */
void diff_write_row_change(struct buffer *out, const struct diff *diff, const struct diff_row *row);
/* Returns the kind of a term: "GPU idle", "kernel". */
const char *diff_term_kind(const struct diff_term *part);

/* Writes how much longer the run or step takes, and why, as one line into an empty buffer. */
void diff_write_summary(struct buffer *out, const struct diff *diff);

/* Receives a line of text. */
typedef void diff_receiver(void *context, const char *text);
/* Calls RECEIVE with the text in LINE, a buffer in memory, and empties LINE. */
void diff_end_line(struct buffer *line, diff_receiver *receive, void *context);
/* Calls RECEIVE for the lines above the tables: the summary and times of GPUs. */
void diff_lines(const struct diff *diff, diff_receiver *receive, void *context);
#endif
