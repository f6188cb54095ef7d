/*
 * Decides which rows differ, and how sure the differences are.
 *
 * The times of a kernel vary within a trace, and their mean varies from one run of the program to the next: the GPU's
 * clock changes, and memory is placed elsewhere. So runs are compared, not launches: a run has one value, the trimmed
 * mean of its launches, and Welch's test compares the values before with those after. How much runs vary is estimated
 * from the row's own runs and from all rows of its section together (diff_shifts.prior), because three runs say little
 * about one row, but a lot about fifty rows. With few runs on a side, only the part of a difference beyond the
 * section's floor counts (diff_values.h).
 *
 * The more rows are compared, the more of them differ by chance; statistics_adjust() takes that into account.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_JUDGE_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_JUDGE_H

#include "analysis/diff/diff_values.h"

/* Rows that take less than this percentage of the time, before and after, are judged on their own and more strictly:
 * they would hide what matters if they were compared together with the others. */
#define DIFF_TINY 0.1

/* Findings and causes of idle time below this percentage of the time may appear and vanish by chance. */
#define DIFF_STEADY 5.0

/* Tests one figure of a row: how far the runs after are from those before, and how likely the difference is chance.
 * SHIFTS are the shifts that SIDES were computed with. The result is not `known` if a side has no value. */
struct diff_test diff_compare(const struct diff_values sides[DIFF_SIDES], struct floor floor,
                              const struct diff_shifts *shifts);

/* Sets the tests, means and changes of all rows and of the whole run. Returns 0, or -1: no memory. */
int diff_judge(struct diff *diff);

/* Returns how sure a test is without a correction for many tests, for a row that was chosen before its values were
 * known. */
enum diff_sure diff_sure_alone(const struct diff_test *test);

#endif
