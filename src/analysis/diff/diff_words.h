/*
 * What `gputrace diff` says in sentences, the same in all formats.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_WORDS_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_WORDS_H

#include "analysis/diff/diff_rows.h"
#include "analysis/diff/diff_whole.h"

struct buffer;

/* "sure", "likely" or "not sure"; "slower", "appeared" and so on, "" for UNCHANGED; "larger" … as an enum says. */
const char *diff_sure_word(enum diff_sure sure);
const char *diff_change_word(enum diff_change change);

/* The growth of a figure in per cent. */
double diff_percent(double log_value);

/* "1.84 s", "3.5 MiB", "300": TYPE_NS, TYPE_BYTES or a count. */
void diff_write_amount(struct buffer *out, double value, enum column_type type);
/* "2.1 → 2.4 ms", with digits enough to tell them apart. */
void diff_write_change(struct buffer *out, double before, double after, enum column_type type);

/* "kernel scale", shortened in its middle where it is very long. */
void diff_write_row(struct buffer *out, const struct diff *diff, const struct diff_row *row);
/* What a row's own change is: "kernel scale, 2.1 → 2.4 ms per launch (+14 %, 300 launches, sure)". */
void diff_write_row_change(struct buffer *out, const struct diff *diff, const struct diff_row *row);
/* "GPU idle", "kernel": what kind of part it is, and its name, "" if it has none. */
const char *diff_part_kind(const struct diff_part *part);

/* One sentence about all. */
void diff_write_summary(struct buffer *out, const struct diff *diff);
/* "GPU busy: 1.1 → 1.2 s (+9.1 %, sure)", and the same of the idle time. */
void diff_write_gpu(struct buffer *out, const struct diff *diff);

/* Calls SAY with each thing that a reader should know: what could not be compared, other GPUs, clocks. */
void diff_notes(const struct diff *diff, void (*say)(void *context, const char *text), void *context);

#endif
