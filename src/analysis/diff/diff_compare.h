/* The test of one figure of a row: how far the runs after are from those before, and how likely that is chance. */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_COMPARE_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_COMPARE_H

#include "analysis/diff/diff_floors.h"
#include "analysis/diff/diff_values.h"

/* SHIFTS: those that the values were made with. The test is not `known` if a side has no value. */
struct diff_test diff_compare(const struct diff_values sides[DIFF_SIDES], struct floor floor,
                              const struct diff_shifts *shifts);

#endif
