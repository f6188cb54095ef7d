/*
 * Reads the conditions of --fail-on and checks whether they are met.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_CONDITIONS_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_CONDITIONS_H

#include "analysis/diff/diff_rows.h"

/* Adds the condition TEXT, which must stay valid. Returns 0, or -1 after error(). */
int diff_conditions_add(struct diff_conditions *conditions, const char *text);
/* Writes the nouns of conditions, "total, gpu, kernel", into the SIZE bytes of TEXT. */
void diff_condition_words(char *text, size_t size);
void diff_conditions_release(struct diff_conditions *conditions);

struct diff_outcome {
    const struct diff_condition *condition;
    bool met;
    bool grown;                 /* the growth exceeds the limit, but may be chance */
    const struct diff_row *row; /* the row that grew most; NULL: none, or the whole run is meant */
};

/* Sets OUTCOME. Returns 0; or -1 after error() if the traces have nothing that the condition could be about. */
int diff_conditions_check(const struct diff *diff, const struct diff_condition *condition,
                          struct diff_outcome *outcome);

struct buffer;
/* Writes "total>3%: met: 1.1 → 1.2 s (+9.1 %, sure)". */
void diff_outcome_write(struct buffer *out, const struct diff *diff, const struct diff_outcome *outcome);

struct diff;
struct diff_outcome;

/* Writes the result as JUnit's XML. OUTCOMES has one for each condition. Returns 0, or -1 after error(). */
int diff_write_junit(const struct diff *diff, const struct diff_outcome *outcomes, struct buffer *out);

#endif
