/*
 * Compares rows whose runs have two modes.
 *
 * On an H200, a kernel that reads the L2 cache took 6 to 9 % longer in one run of four. A run keeps its mode, which
 * depends on the physical memory that the process got. Neither the launches of a run nor the addresses show the mode.
 * Runs of one mode deviate by 0.6 %, runs of both by 3 %, which hides a change of 2 %.
 *
 * The runs of both sides are sorted together and cut into two modes at the largest gap between their values. If there
 * are two modes, the sides are compared within each mode, and the differences are averaged (a stratified comparison).
 * The cut ignores the sides: under the null hypothesis any run of a mode could be of either side, so that the cut makes
 * no false alarm more likely. A change by more than a third of the modes' distance fills the gap. Then the runs are cut
 * where the least deviation is left, and each side must have runs in both modes.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_MODES_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_MODES_H

#include "analysis/diff/diff_values.h"

enum diff_mode { LOW_MODE, HIGH_MODE, DIFF_MODES };

/* The runs of one mode and one side: their number, mean, and sum of squared distances from the mean. */
struct diff_cell {
    size_t count;
    double mean, squares;
};

struct diff_modes {
    bool known; /* there are two modes; otherwise no other field is valid */
    struct diff_cell cells[DIFF_MODES][DIFF_SIDES];
    double distance;  /* distance of the modes' means, which are logarithms */
    double deviation; /* standard deviation of the runs of a mode and a side */
};

/* Searches the COUNT RUNS, which it sorts, for two modes that are at least LEAST (a logarithm) apart. */
struct diff_modes diff_modes_find(struct diff_run *runs, size_t count, double least);

/*
 * Compares the sides within the modes and sets TEST. Returns false and leaves TEST unchanged if no mode has runs of
 * both sides, or if the sides' shares of the modes differ by more than chance explains: then the mode itself may have
 * changed. UNIT is the result of diff_unit().
 */
bool diff_modes_compare(const struct diff_modes *modes, struct floor floor, double unit, struct diff_test *test);

/* Returns the number of traces that each side needs so that a CHANGE (a logarithm) is found in 19 of 20 cases with a
 * probability below CHANCE of being chance. DEVIATION is diff_modes.deviation. */
size_t diff_modes_needed(double deviation, double change, double chance);

#endif
