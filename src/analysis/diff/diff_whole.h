/*
 * What explains the difference of the whole: parts that add up to it exactly. A step has the parts of the section
 * `time`. Those of a run are these:
 *
 * A run lasts as long as its GPU is busy and idle. The busy time is that of its kernels, copies and sets, less the time
 * in which several ran at once. With several GPUs, all parts are means over those that were used.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_WHOLE_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_WHOLE_H

#include "analysis/diff/diff_rows.h"

struct diff_part {
    enum diff_part_kind { PART_ROW, PART_OVERLAP, PART_IDLE } kind;
    const struct diff_row *row; /* of PART_ROW */
    double before, after;       /* ns, means of the traces; of PART_OVERLAP negative */
};

static inline double diff_part_difference(const struct diff_part *part)
{
    return part->after - part->before;
}

/* Makes diff.parts, those with the largest difference first, after diff_judge(). Returns 0, or -1: no memory. */
int diff_explain(struct diff *diff);

#endif
