/*
 * What `gputrace diff` needs of statistics: how likely a difference is to be chance. Times are compared by their
 * logarithms, so that a difference of 0.02 is two per cent for a short kernel and for a long one.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_STATISTICS_H
#define GPUTRACE_ANALYSIS_DIFF_STATISTICS_H

#include <stddef.h>

/* The chance that Student's t of DF degrees of freedom is farther from 0 than T, on either side. DF may be infinite. */
double statistics_t_tail(double t, double df);
/* The t that 5 % of all lie beyond, on either side: 95 % lie within it. */
double statistics_t_95(double df);

/* Derivatives of the logarithm of the gamma function, for x > 0; and the x whose trigamma is Y > 0. */
double statistics_digamma(double x);
double statistics_trigamma(double x);
double statistics_trigamma_inverse(double y);

/*
 * Variances from few values each are uncertain. Where many of them are of one sort, each is drawn towards what is usual
 * among them, which counts as `df` further degrees of freedom (G. K. Smyth, Linear models and empirical Bayes methods,
 * 2004).
 */
struct prior {
    double variance, df;
};

/* The prior of COUNT VARIANCES of DFS degrees of freedom each, fitted by their logarithms' mean and variance. The more
 * alike they are, the larger is its df: PRIOR_DF_MOST at most. Of fewer than three: FALLBACK. */
#define PRIOR_DF_MOST 50
struct prior statistics_prior(const double *variances, const double *dfs, size_t count, struct prior fallback);

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

/* How far AFTER is from BEFORE, by Welch's test. */
struct difference {
    double value;  /* after - before */
    double margin; /* the true difference is within value +- margin with 95 % */
    double p;      /* the chance of such a difference, or a larger one, when there is none */
};

/* Differences up to SLACK either way count as none. */
struct difference statistics_welch(const struct estimate *before, const struct estimate *after, double slack);

/* Replaces each of COUNT chances by the least share of false alarms among all differences up to this one (Y. Benjamini,
 * Y. Hochberg, 1995). ORDER has COUNT places for the computation. */
void statistics_adjust(double *p, size_t *order, size_t count);

#endif
