#include "tests/unit.h"

#include <math.h>

#include "analysis/diff/diff_values.h"

#define PI 3.14159265358979323846

static void assert_near(double value, double expected, double error)
{
    if (!(fabs(value - expected) <= error))
        fail_msg("%.12g is not %.12g", value, expected);
}

UNIT_TEST(tails_of_t_are_those_of_the_tables)
{
    assert_near(statistics_t_tail(0, 3), 1, 1e-12);
    assert_near(statistics_t_tail(1, 1), 0.5, 1e-12); /* Cauchy's distribution */
    assert_near(statistics_t_tail(-1, 1), 0.5, 1e-12);
    assert_near(statistics_t_tail(2.228138852, 10), 0.05, 1e-9);
    assert_near(statistics_t_tail(4.604094871, 4), 0.01, 1e-9);
    assert_near(statistics_t_tail(22.32712477, 2), 0.002, 1e-9);
    assert_near(statistics_t_tail(1.959963985, INFINITY), 0.05, 1e-9);
    assert_near(statistics_t_tail(1.959963985, 1e5), 0.05, 1e-5);
}

UNIT_TEST(small_tails_keep_their_digits)
{
    /* of 2 degrees of freedom the tail is 1 - t / sqrt(2 + t^2) */
    double t = 1e4, expected = 1 / (t * t) - 1.5 / pow(t, 4);
    assert_near(statistics_t_tail(t, 2) / expected, 1, 1e-6);
    assert_near(statistics_t_tail(10, INFINITY) / 1.523970604832e-23, 1, 1e-6);
}

UNIT_TEST(quantiles_are_those_of_the_tables)
{
    assert_near(statistics_t_95(1), 12.70620474, 1e-6);
    assert_near(statistics_t_95(10), 2.228138852, 1e-8);
    assert_near(statistics_t_95(INFINITY), 1.959963985, 1e-8);
}

UNIT_TEST(a_variance_is_drawn_towards_the_prior)
{
    struct prior prior = {.variance = 1, .df = 2};
    struct estimate estimate = statistics_moderate(5, 4, 3, prior, 1);
    assert_near(estimate.mean, 5, 0);
    assert_near(estimate.variance, 2.5 / 3, 1e-12);
    assert_near(estimate.df, 4, 0);
    estimate = statistics_moderate(5, 0, 1, prior, 10); /* one value knows nothing of its own */
    assert_near(estimate.variance, 10, 1e-12);
    assert_near(estimate.df, 2, 0);
}

static struct estimate estimate_of(const double *values, size_t count)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    double df = (double)(count - 1);
    return (struct estimate){.mean = mean, .variance = squares / df / (double)count, .df = df};
}

/* The first example of Wikipedia's article about Welch's test: t = -2.46, 25.0 degrees of freedom, p = 0.021. */
UNIT_TEST(the_test_is_welchs)
{
    static const double one[] = {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
                                 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4};
    static const double other[] = {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
                                   24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4};
    struct estimate before = estimate_of(one, 15), after = estimate_of(other, 15);
    struct difference difference = statistics_welch(&before, &after, 0);
    assert_near(difference.p, 0.021, 0.0005);
    assert_near(difference.value, 2.1667, 0.0001);
    assert_near(difference.value / difference.margin, 2.46 / 2.0595, 0.005); /* t by its 95 % quantile */
}

UNIT_TEST(a_difference_within_the_slack_is_none)
{
    struct estimate before = {.mean = 1, .variance = 1e-6, .df = 5}, after = {.mean = 1.02, .variance = 1e-6, .df = 5};
    assert_near(statistics_welch(&before, &after, 0.02).p, 1, 1e-9);
    assert_true(statistics_welch(&before, &after, 0.01).p < 1e-3);
    assert_true(statistics_welch(&after, &before, 0.01).p < 1e-3);
    before.variance = after.variance = 0;
    assert_near(statistics_welch(&before, &after, 0.03).p, 1, 0);
    assert_near(statistics_welch(&before, &after, 0.01).p, 0, 0);
}

UNIT_TEST(chances_are_adjusted_as_benjamini_and_hochberg_do)
{
    double p[] = {0.01, 0.04, 0.03, 0.005}, expected[] = {0.02, 0.04, 0.04, 0.02}, one = 0.3;
    size_t order[4];
    statistics_adjust(p, order, 4);
    for (size_t i = 0; i < 4; i++)
        assert_near(p[i], expected[i], 1e-12);
    statistics_adjust(&one, order, 1);
    assert_near(one, 0.3, 0);
}

UNIT_MAIN(NULL, NULL)
