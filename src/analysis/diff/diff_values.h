/*
 * Computes the values of a row in the traces of one side, as logarithms, and how they vary.
 *
 * Two things make a kernel's time vary from run to run: what all kernels of a run share, such as the GPU's clock, and
 * an effect of the kernel alone, such as its memory placement. If a section has enough rows, both are estimated
 * separately: the shift of a run is the median, over its rows, of the difference between the row's value and its mean
 * over the runs of the side.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_VALUES_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_VALUES_H

#include <math.h>
#include <stddef.h>

#include "analysis/diff/diff_rows.h"

/* Returns the probability that Student's t with DF degrees of freedom is farther from 0 than T, on either side. DF may
 * be infinite. */
double statistics_t_tail(double t, double df);
/* Returns the t beyond which 5 % of all values lie, on both sides together. */
double statistics_t_95(double df);

/* What is known about a variance before its values are seen. A variance from few values is uncertain, so it is drawn
 * towards the prior, which counts as `df` further degrees of freedom. */
struct prior {
    double variance, df;
};

/* A mean, the variance of the mean, and the degrees of freedom of this variance. */
struct estimate {
    double mean, variance, df;
};

/* Returns the estimate from COUNT values, at least one, with this MEAN and VARIANCE (0 if there is one value). The
 * variance is drawn towards UNIT times the variance of PRIOR. */
struct estimate statistics_moderate(double mean, double variance, size_t count, struct prior prior, double unit);

/* Adds a second source of variance, with DF degrees of freedom. */
void statistics_widen(struct estimate *estimate, double variance, double df);

struct weighed {
    double value, weight;
};

/* Sorts ITEMS and returns the value below which half of the weight lies; 0 if there are no items. */
double statistics_weighed_median(struct weighed *items, size_t count);

/* Compares two estimates by Welch's test. Differences up to SLACK in either direction count as none. */
struct difference statistics_welch(const struct estimate *before, const struct estimate *after, double slack);

/* Replaces each of COUNT probabilities P by the smallest share of false alarms among all differences that are at most
 * as likely (Y. Benjamini, Y. Hochberg, 1995). ORDER is scratch memory for COUNT numbers. */
void statistics_adjust(double *p, size_t *order, size_t count);

/*
 * The floor of a section: how far runs of one program differ, in per cent.
 *
 * The floors were measured with 128 runs of four kernels and some copies on an H200. Within a run the launches of a
 * kernel agree well. From run to run, the mean of gemm and activation deviates by 0.05 %, that of vector_add by 0.4 %.
 * But `reduce`, which reads from the L2 cache, has two modes: in a quarter of the runs it takes 6 to 9 % longer,
 * because memory is placed elsewhere. No quantile of the launches of a run removes this; diff_modes.h compares such
 * rows within their modes. Three of 128 runs copied to the GPU 6 to 17 % slower than the others. Means of API calls
 * deviate by 14 to 24 % and up to 80 %, causes of idle time by a factor of three.
 */
struct floor {
    double usual; /* usual distance of two runs, which yields the prior of the variance between runs */
    double
        most; /* largest distance of a row's modes; counts as no difference while the runs are too few to show modes */
};

/* The floors of a run's length, and of the GPU's idle time in it. */
#define FLOOR_OF_SPAN ((struct floor){8, 20})
#define FLOOR_OF_IDLE ((struct floor){20, 60})

#define FLOOR_GPU_MOST 10
#define FLOOR_GPU_TEXT "10 %" /* for sentences */

/* Returns the floor of a time or a number of bytes. */
static inline struct floor floor_of(enum comparable_floor floor)
{
    static const struct floor floors[FLOOR_COUNT] = {
        [FLOOR_SIZE] = {1, 1},      [FLOOR_GPU] = {1, FLOOR_GPU_MOST}, [FLOOR_COPY] = {2, 40},
        [FLOOR_OPERATOR] = {2, 20}, [FLOOR_HOST] = {60, 400},
    };
    return floors[floor];
}

/* Returns the largest difference that counts as none if there are enough runs to show how much they vary, as a
 * logarithm. */
static inline double floor_slack(struct floor floor)
{
    return log1p(floor.usual / 4 / 100);
}

/* Returns the floor of a number of occurrences. */
static inline struct floor floor_of_counts(enum comparable_floor floor)
{
    return floor < FLOOR_HOST ? (struct floor){1, 1} : (struct floor){20, 20};
}

/*
 * With few runs, modes may look like a change. If a row takes one mode with probability q and the other with 1 - q, all
 * of n runs before have one mode and all of n runs after have the other with a probability of at most 2 / 4^n: in one
 * of 8 comparisons of two runs, one of 32 of three runs, one of 128 of four runs. So with fewer than FLOOR_FEW traces
 * on a side, differences up to floor.most count as none. With fewer than FLOOR_SEVERAL, they count as none unless they
 * are FLOOR_AGREEMENT times as large as the deviation of the runs of a side.
 */
#define FLOOR_FEW 3
#define FLOOR_SEVERAL 4
#define FLOOR_AGREEMENT 15

struct diff_values {
    size_t count;
    double mean;
    double variance;          /* variance of the values minus the shifts of their runs; 0 if there is one value */
    double within, within_df; /* mean over the traces of the value's variance due to the variation of occurrences */
};

/* How the runs of a section vary. */
struct diff_shifts {
    bool known;          /* otherwise all shifts are 0 */
    double *by_trace;    /* the shift of each trace against the mean of its side */
    double variance, df; /* variance of the shifts */
    double difference;   /* median over the rows of the difference from before to after */
    double correction;   /* factor for variances of rows, because the shifts are medians that include the row itself */
    struct prior prior;  /* prior of the variances that the shifts leave for rows that occur often, in diff_unit() */
};

/* The prior if no other rows show how much runs vary: the floor alone. */
#define DIFF_USUAL_PRIOR ((struct prior){.variance = 1, .df = 2})

/* Computes the shifts of SECTION. Returns 0, or -1: no memory. The caller frees `by_trace` in both cases. */
int diff_shifts_init(struct diff_shifts *shifts, const struct diff *diff, unsigned section);

/* Smaller values count as this one (0 has no logarithm): half a nanosecond, a byte or an occurrence. */
#define DIFF_LEAST 0.5

/* Returns the value of a logarithm without the digits that rounding adds; 0 for DIFF_LEAST and below. */
double diff_value_of(double logarithm);

/* Returns the values of a figure of ROW in the traces of SIDE. SHIFTS: of the row's section, or NULL. */
struct diff_values diff_values_of(const struct diff *diff, const struct diff_row *row, enum diff_figure figure,
                                  enum diff_side side, const struct diff_shifts *shifts);
/* Returns the values of a figure of whole traces, which lies at offset AT of struct diff_whole. */
struct diff_values diff_whole_values(const struct diff *diff, size_t at, enum diff_side side);

/* Returns the arithmetic mean of the figure at offset AT of struct diff_whole. */
double diff_whole_mean(const struct diff *diff, size_t at, enum diff_side side);

/* The value of a run, as a logarithm, and the side of its trace. */
struct diff_run {
    double value;
    enum diff_side side;
};

/* Sets RUNS, which has room for all traces, to the values of FIGURE_EACH in the runs that have ROW. Returns their
 * number. */
size_t diff_runs_of(const struct diff *diff, const struct diff_row *row, struct diff_run *runs);

/* Returns whether a row occurs often enough in each trace to show how much its value varies. */
bool diff_occurs_often(const struct diff_values sides[DIFF_SIDES]);

/* Returns the variance of runs that differ by a usual floor, in per cent: their deviation is a quarter of the floor. */
double diff_floor_variance(double floor_percent);
/* Returns the unit in which variances between the runs of a row are compared with those of other rows. */
double diff_unit(const struct diff_values sides[DIFF_SIDES], double floor_percent);

#endif
