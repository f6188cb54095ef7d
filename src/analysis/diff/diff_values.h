/*
 * The values of a row in the traces of one side, as logarithms, and how they vary.
 *
 * Two things make a kernel's time vary from run to run: what all kernels of a run share, such as the GPU's clock, and
 * an effect of the kernel alone, such as its memory placement. If a section has enough rows, both are estimated apart:
 * the shift of a run is the median of the differences of its rows from their means over the runs of the side.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_VALUES_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_VALUES_H

#include <math.h>
#include <stddef.h>

#include "analysis/diff/diff_rows.h"

/* The chance that Student's t of DF degrees of freedom is farther from 0 than T, on either side. DF may be infinite. */
double statistics_t_tail(double t, double df);
/* The t that 5 % of all lie beyond, on either side: 95 % lie within it. */
double statistics_t_95(double df);

/* Variances from few values each are uncertain, so each is drawn towards what is usual, which counts as `df` further
 * degrees of freedom. */
struct prior {
    double variance, df;
};

/* A mean and how sure it is: the variance of the mean, and the degrees of freedom of that. */
struct estimate {
    double mean, variance, df;
};

/* The estimate from COUNT values, at least one, of this MEAN and VARIANCE (0 of one value). The variance is drawn
 * towards PRIOR, whose variance is UNIT times as large. */
struct estimate statistics_moderate(double mean, double variance, size_t count, struct prior prior, double unit);

/* Adds a second source of variance, with degrees of freedom of its own. */
void statistics_widen(struct estimate *estimate, double variance, double df);

struct weighed {
    double value, weight;
};

/* The value below which lies half of the weight; 0 of none. Puts the items in their order. */
double statistics_weighed_median(struct weighed *items, size_t count);

/* Welch's test. Differences up to SLACK either way count as none. */
struct difference statistics_welch(const struct estimate *before, const struct estimate *after, double slack);

/* Replaces each of COUNT chances by the least share of false alarms among all differences up to this one (Y. Benjamini,
 * Y. Hochberg, 1995). ORDER has COUNT places for the computation. */
void statistics_adjust(double *p, size_t *order, size_t count);

/*
 * Floors: how far runs of one program differ.
 *
 * Measured with 128 runs of four kernels and some copies on an H200. Within a run the launches of a kernel agree well;
 * from run to run the mean of gemm and activation deviates by 0.05 %, that of vector_add by 0.4 %. But `reduce`, which
 * reads what is in the L2 cache, has two modes: in a quarter of the runs it takes 6 to 9 % longer, as memory lies
 * elsewhere. No quantile of the launches of a run removes that; diff_modes.h compares such rows within their modes.
 * Three of 128 runs copied 6 to 17 % slower than the others to the GPU. Means of API calls deviate by 14 to 24 % and up
 * to 80 %, causes of idle time by a factor of three. In per cent.
 */
struct floor {
    double usual; /* how far apart two runs usually are; the prior of the variance between runs is made of it */
    double most;  /* how far apart the modes of a row may be: counts as none while few runs cannot show the modes */
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

/* Returns how large a difference still counts as none, as a logarithm, where enough runs show how much they vary. */
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
 * If a row takes the one mode with a chance q and the other with 1 - q, all of n runs before are of one mode and all of
 * n runs after of the other with at most 2 / 4^n: in one of 8 comparisons of two runs, one of 32 of three, one of 128
 * of four. So with fewer traces than FLOOR_FEW on a side, differences up to the worst floor count as none; with fewer
 * than FLOOR_SEVERAL they count as none unless they are FLOOR_AGREEMENT times as large as the deviation of the runs of
 * a side.
 */
#define FLOOR_FEW 3
#define FLOOR_SEVERAL 4
#define FLOOR_AGREEMENT 15

struct diff_values {
    size_t count;
    double mean;
    double variance;          /* of the values, less the shifts of their runs; 0 if there is one value only */
    double within, within_df; /* the mean of the variances that the occurrences in a trace give its value */
};

/* How the runs of a section vary. */
struct diff_shifts {
    bool known;          /* else all shifts are 0 */
    double *by_trace;    /* the shift of each trace against the mean of its side */
    double variance, df; /* of the shifts */
    double difference;   /* median of the rows, from before to after */
    double correction;  /* factor for the variances of rows, since the shifts are medians that include the row itself */
    struct prior prior; /* of the variances that are left of rows that occur often, in units of diff_unit() */
};

/* The prior where no other rows show how much runs vary: the floor alone. */
#define DIFF_USUAL_PRIOR ((struct prior){.variance = 1, .df = 2})

/* Returns 0, or -1: no memory. The caller frees `by_trace` in either case. */
int diff_shifts_init(struct diff_shifts *shifts, const struct diff *diff, unsigned section);

/* Smaller values count as this one (0 has no logarithm): half a nanosecond, a byte or an occurrence. */
#define DIFF_LEAST 0.5

/* The value whose logarithm this is, without the digits that logarithms make up; 0 for what counts as the least. */
double diff_value_of(double logarithm);

/* SHIFTS: NULL, or those of the row's section. */
struct diff_values diff_values_of(const struct diff *diff, const struct diff_row *row, enum diff_figure figure,
                                  enum diff_side side, const struct diff_shifts *shifts);
/* Returns the values of a figure of whole traces, which is AT bytes from the start of struct diff_whole. */
struct diff_values diff_whole_values(const struct diff *diff, size_t at, enum diff_side side);

/* Returns the mean of such a figure. */
double diff_whole_mean(const struct diff *diff, size_t at, enum diff_side side);

/* The value of a run, as a logarithm, and the side of its trace. */
struct diff_run {
    double value;
    enum diff_side side;
};

/* What one occurrence of a row took in each run that has it. RUNS has a place for each trace. Returns their number. */
size_t diff_runs_of(const struct diff *diff, const struct diff_row *row, struct diff_run *runs);

/* Whether the occurrences of a row in each trace are enough to say how much its value varies by them. */
bool diff_occurs_often(const struct diff_values sides[DIFF_SIDES]);

/* The variance of runs that differ by as much as a usual floor in per cent: its deviation is a quarter of it. */
double diff_floor_variance(double floor_percent);
/* The unit in which variances between runs are compared with those of other rows. */
double diff_unit(const struct diff_values sides[DIFF_SIDES], double floor_percent);

#endif
