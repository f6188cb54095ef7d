/*
 * Student's t by the incomplete beta function, moderated variances, Welch's test, and the adjustment of many tests.
 */
#include "analysis/diff/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "common/array.h"

/* --- Student's t --- */

#define BETA_STEPS 300
#define NEARLY_ZERO 1e-300

static double away_from_zero(double value)
{
    return fabs(value) < NEARLY_ZERO ? NEARLY_ZERO : value;
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), result = d;
    for (int m = 1; m <= BETA_STEPS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        result *= d * c;
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        result *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return result;
}

/* The regularised incomplete beta function I_x(a, b). */
static double beta_share(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double statistics_t_tail(double t, double df)
{
    if (df > 1e6)
        return erfc(fabs(t) / sqrt(2));
    return beta_share(df / 2, 0.5, df / (df + t * t));
}

double statistics_t_95(double df)
{
    double low = 0, high = 1e4;
    for (int i = 0; i < 80; i++) {
        double middle = (low + high) / 2;
        if (statistics_t_tail(middle, df) > 0.05)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* --- priors --- */

/* From here on the asymptotic series are exact to 12 digits. */
#define LARGE 12

double statistics_digamma(double x)
{
    double result = 0;
    for (; x < LARGE; x++)
        result -= 1 / x;
    double square = 1 / (x * x);
    return result + log(x) - 0.5 / x - square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square / 240)));
}

double statistics_trigamma(double x)
{
    double result = 0;
    for (; x < LARGE; x++)
        result += 1 / (x * x);
    double square = 1 / (x * x);
    return result + 1 / x + square / 2 +
           square / x * (1.0 / 6 - square * (1.0 / 30 - square * (1.0 / 42 - square / 30)));
}

double statistics_trigamma_inverse(double y)
{
    double low = 1e-8, high = 1e8;
    for (int i = 0; i < 200; i++) {
        double middle = sqrt(low * high); /* trigamma falls as x grows */
        if (statistics_trigamma(middle) > y)
            low = middle;
        else
            high = middle;
    }
    return high;
}

struct prior statistics_prior(const double *variances, const double *dfs, size_t count, struct prior fallback)
{
    double mean = 0, squares = 0, expected = 0;
    if (count < 3)
        return fallback;
    for (size_t i = 0; i < count; i++) {
        double part = log(variances[i]) - statistics_digamma(dfs[i] / 2) + log(dfs[i] / 2);
        double distance = part - mean;
        mean += distance / (double)(i + 1);
        squares += distance * (part - mean);
        expected += statistics_trigamma(dfs[i] / 2);
    }
    double spread = squares / (double)(count - 1) - expected / (double)count;
    double df = spread > 0 ? 2 * statistics_trigamma_inverse(spread) : PRIOR_DF_MOST;
    if (df >= PRIOR_DF_MOST)
        return (struct prior){.variance = exp(mean), .df = PRIOR_DF_MOST};
    return (struct prior){.variance = exp(mean + statistics_digamma(df / 2) - log(df / 2)), .df = df};
}

struct estimate statistics_moderate(double mean, double variance, size_t count, struct prior prior, double unit)
{
    double own = (double)(count - 1), df = own + prior.df;
    double moderate = (own * variance + prior.df * prior.variance * unit) / df;
    return (struct estimate){.mean = mean, .variance = moderate / (double)count, .df = df};
}

/* The degrees of freedom of a sum of variances, by Satterthwaite. */
static double df_of_sum(double one, double one_df, double other, double other_df)
{
    return (one + other) * (one + other) / (one * one / one_df + other * other / other_df);
}

void statistics_widen(struct estimate *estimate, double variance, double df)
{
    if (variance <= 0)
        return;
    estimate->df = df_of_sum(estimate->variance, estimate->df, variance, df);
    estimate->variance += variance;
}

ORDER_BY(by_value, struct weighed, value)

double statistics_weighed_median(struct weighed *items, size_t count)
{
    double all = 0, passed = 0;
    for (size_t i = 0; i < count; i++)
        all += items[i].weight;
    if (count > 1)
        qsort(items, count, sizeof(*items), by_value);
    for (size_t i = 0; i < count; i++)
        if ((passed += items[i].weight) >= all / 2)
            return items[i].value;
    return 0;
}

/* --- tests --- */

struct difference statistics_welch(const struct estimate *before, const struct estimate *after, double slack)
{
    double value = after->mean - before->mean, variance = before->variance + after->variance;
    if (variance <= 0)
        return (struct difference){.value = value, .margin = slack, .p = fabs(value) > slack ? 0 : 1};
    double df = df_of_sum(before->variance, before->df, after->variance, after->df);
    double distance = fabs(value) - slack;
    return (struct difference){
        .value = value,
        .margin = slack + statistics_t_95(df) * sqrt(variance),
        .p = distance > 0 ? statistics_t_tail(distance / sqrt(variance), df) : 1,
    };
}

static int by_chance(const void *left, const void *right, void *context)
{
    const double *p = context;
    double a = p[*(const size_t *)left], b = p[*(const size_t *)right];
    return (a > b) - (a < b);
}

void statistics_adjust(double *p, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof(*order), by_chance, p);
    double least = 1;
    for (size_t rank = count; rank > 0; rank--) {
        double adjusted = p[order[rank - 1]] * (double)count / (double)rank;
        least = fmin(least, adjusted);
        p[order[rank - 1]] = least;
    }
}
