/*
 * What --fail-on asks, and whether it is met.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_CONDITIONS_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_CONDITIONS_H

#include "analysis/diff/diff_rows.h"

/* Adds the condition that TEXT, which stays where it is, describes. Returns 0, or -1 after error(). */
int diff_conditions_add(struct diff_conditions *conditions, const char *text);
/* Writes what a condition may be about, "total, gpu, kernel", into the SIZE bytes of TEXT. */
void diff_condition_words(char *text, size_t size);
void diff_conditions_release(struct diff_conditions *conditions);

struct diff_outcome {
    const struct diff_condition *condition;
    bool met;
    bool grown; /* by more than the limit, but that may be chance */
    const struct diff_row
        *row; /* that grew most, of those that are meant; NULL: none, or the condition is of the whole */
};

/* Returns 0; or -1 after error(): there is nothing that the condition could be about. */
int diff_conditions_check(const struct diff *diff, const struct diff_condition *condition,
                          struct diff_outcome *outcome);

struct buffer;
/* "total>3%: met: 1.1 → 1.2 s (+9.1 %, sure)". */
void diff_outcome_write(struct buffer *out, const struct diff *diff, const struct diff_outcome *outcome);

struct diff;
struct diff_outcome;

/* OUTCOMES are those of all conditions. Returns 0, or -1 after error(). */
int diff_write_junit(const struct diff *diff, const struct diff_outcome *outcomes, struct buffer *out);

#endif
