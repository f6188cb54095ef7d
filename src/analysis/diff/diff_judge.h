/*
 * Which rows differ, and how sure that is.
 *
 * Times of one kernel vary within a trace, and their mean varies from one run of the program to the next: the clocks of
 * the GPU shift, and memory lies elsewhere. So runs are compared, not launches: a run has one value, the trimmed mean
 * of its launches, and Welch's test compares the values before with those after. How much runs vary is estimated from
 * the row's own runs and from all rows of its section together (diff_shifts.prior), because three runs say little about
 * one row, but a lot about fifty. With few runs on a side only the part of a difference that is beyond the floor of
 * the section counts (diff_values.h).
 *
 * The more rows are compared, the more of them differ by chance; statistics_adjust() takes that into account.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_JUDGE_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_JUDGE_H

#include "analysis/diff/diff_values.h"

/* Rows with less of the time than this, in per cent, before and after, are not compared together with the others: they
 * would hide what matters. They are judged on their own, more strictly. */
#define DIFF_TINY 0.1

/* Findings and causes of idle time with less of the time than this, in per cent, may appear and vanish by chance. */
#define DIFF_STEADY 5.0

/* The test of one figure of a row: how far the runs after are from those before, and how likely that is chance. SHIFTS:
 * those that the values were made with. The test is not `known` if a side has no value. */
struct diff_test diff_compare(const struct diff_values sides[DIFF_SIDES], struct floor floor,
                              const struct diff_shifts *shifts);

/* Fills the tests, means and changes of all rows and of the whole. Returns 0, or -1: no memory. */
int diff_judge(struct diff *diff);

/* Returns how sure a test is on its own, for a row that was chosen before its values were known. */
enum diff_sure diff_sure_alone(const struct diff_test *test);

#endif
