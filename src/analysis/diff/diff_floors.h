/*
 * How far runs of one program differ.
 *
 * Measured with 128 runs of four kernels and some copies on an H200. Within a run the launches of a kernel agree well;
 * from run to run the mean of gemm and activation deviates by 0.05 %, that of vector_add by 0.4 %. But `reduce`, which
 * reads what is in the L2 cache, has two modes: in a quarter of the runs it takes 6 to 9 % longer, as memory lies
 * elsewhere. No quantile of the launches of a run removes that; diff_modes.h compares such rows within their modes.
 * Three of 128 runs copied 6 to 17 % slower than the others to the GPU. Means of API calls deviate by 14 to 24 % and up
 * to 80 %, causes of idle time by a factor of three.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_FLOORS_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_FLOORS_H

#include <math.h>

#include "analysis/model/section.h"

/* In per cent. */
struct floor {
    double usual; /* how far apart two runs usually are; the prior of the variance between runs is made of it */
    double most;  /* how far apart the modes of a row may be: counts as none while few runs cannot show the modes */
};

/* Of the length of a run, and of the GPU's idle time in it. */
#define FLOOR_OF_SPAN ((struct floor){8, 20})
#define FLOOR_OF_IDLE ((struct floor){20, 60})

#define FLOOR_GPU_MOST 10
#define FLOOR_GPU_TEXT "10 %" /* for sentences */

/* Of times, or of bytes. */
static inline struct floor floor_of(enum comparable_floor floor)
{
    static const struct floor floors[FLOOR_COUNT] = {
        [FLOOR_SIZE] = {1, 1},      [FLOOR_GPU] = {1, FLOOR_GPU_MOST}, [FLOOR_COPY] = {2, 40},
        [FLOOR_OPERATOR] = {2, 20}, [FLOOR_HOST] = {60, 400},
    };
    return floors[floor];
}

/* What counts as no difference, as a logarithm, where the runs are enough to show how much they vary. */
static inline double floor_slack(struct floor floor)
{
    return log1p(floor.usual / 4 / 100);
}

/* Of how often something occurs. */
static inline struct floor floor_of_counts(enum comparable_floor floor)
{
    return floor < FLOOR_HOST ? (struct floor){1, 1} : (struct floor){20, 20};
}

/*
 * If a row takes the one mode with a chance q and the other with 1 - q, all of n runs before are of one mode and all of
 * n runs after of the other with at most 2 / 4^n: in one of 8 comparisons of two runs, one of 32 of three, one of 128
 * of four. So with fewer traces than FLOOR_FEW on a side, differences up to the worst floor count as none; with fewer
 * than FLOOR_SEVERAL, unless the difference is so many times as large as what the runs of a side deviate by.
 */
#define FLOOR_FEW 3
#define FLOOR_SEVERAL 4
#define FLOOR_AGREEMENT 15

#endif
