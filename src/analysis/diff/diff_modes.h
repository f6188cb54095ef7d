/*
 * Rows that have two modes.
 *
 * On an H200, a kernel that reads the L2 cache took 6 to 9 % longer in one run of four. The mode holds for a whole run:
 * it depends on the physical memory that the process got, so the launches of a run do not show it, and neither do the
 * addresses. Within a mode the runs deviate by 0.6 %, over both by 3 %, so that the modes hide a change of 2 %.
 *
 * Modes are looked for in the runs of both sides together. If there are two, the sides are compared within each mode,
 * and the differences are averaged (a stratified comparison). The runs are cut in two at the largest gap between their
 * values, without regard to their sides. So under the null hypothesis any run of a mode could be of either side, and
 * the cut makes no false alarm more likely. A change by more than a third of the distance fills that gap; then the
 * cut is that which leaves the least deviation, and each side must have runs on either side of it.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_MODES_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_MODES_H

#include "analysis/diff/diff_values.h"

enum diff_mode { LOW_MODE, HIGH_MODE, DIFF_MODES };

/* The runs of one mode and one side: their number, their mean, and the sum of the squares of their distances from it.
 */
struct diff_cell {
    size_t count;
    double mean, squares;
};

struct diff_modes {
    bool known; /* there are two modes; else nothing else is set */
    struct diff_cell cells[DIFF_MODES][DIFF_SIDES];
    double distance;  /* from one mode to the other, as a logarithm */
    double deviation; /* of the runs of a mode and a side */
};

/* Looks for two modes that are at least LEAST apart. Sorts the RUNS. */
struct diff_modes diff_modes_find(struct diff_run *runs, size_t count, double least);

/*
 * Compares the sides within the modes. Returns false, and leaves TEST as it is, if no mode has runs of both sides, or
 * if the sides' shares of the modes differ by more than chance explains: then the mode itself may have changed. UNIT is
 * that of diff_unit().
 */
bool diff_modes_compare(const struct diff_modes *modes, struct floor floor, double unit, struct diff_test *test);

/* Traces that each side needs to find a CHANGE (a logarithm) in most cases, if it has to be less likely than CHANCE. */
size_t diff_modes_needed(double deviation, double change, double chance);

#endif
