#include "tests/unit.h"

#include <math.h>

#include "analysis/base/series.h"

/* The value that the histogram says VALUE is, when it holds nothing else. */
static int64_t known(int64_t value)
{
    struct histogram histogram = {0};
    assert_int_equal(histogram_add(&histogram, value), 0);
    int64_t result = histogram_rank(&histogram, 0);
    histogram_release(&histogram);
    return result;
}

UNIT_TEST(small_values_are_exact)
{
    for (int64_t value = 0; value < 256; value++)
        assert_int_equal(known(value), value);
    assert_int_equal(known(-5), 0);
    assert_int_equal(known(INT64_MIN), 0);
}

UNIT_TEST(no_value_is_off_by_more_than_a_256th)
{
    for (int power = 8; power < 63; power++)
        for (int64_t i = 0; i < 2000; i++) {
            int64_t value =
                (INT64_C(1) << power) + (power < 11 ? i % (1 << power) : i * ((INT64_C(1) << power) / 2000));
            int64_t error = known(value) - value;
            assert_true((error < 0 ? -error : error) <= value / 256);
        }
    assert_true(known(INT64_MAX) > INT64_MAX / 256 * 255);
}

UNIT_TEST(ranks_are_those_of_sorted_values)
{
    struct histogram histogram = {0};
    for (int64_t i = 99; i >= 0; i--)
        assert_int_equal(histogram_add(&histogram, i * 2), 0);
    for (uint64_t rank = 0; rank < 100; rank++)
        assert_int_equal(histogram_rank(&histogram, rank), rank * 2);
    histogram_release(&histogram);
}

static struct summary summary_of(const int64_t *values, size_t count)
{
    struct series series = {0};
    for (size_t i = 0; i < count; i++)
        assert_int_equal(series_add(&series, values[i]), 0);
    struct summary summary = series_summary(&series);
    series_release(&series);
    return summary;
}

UNIT_TEST(of_nothing_all_is_zero)
{
    struct summary summary = summary_of(NULL, 0);
    assert_int_equal(summary.count, 0);
    assert_int_equal(summary.total, 0);
    assert_true(summary.average == 0 && summary.median == 0 && summary.deviation == 0);
}

UNIT_TEST(one_value_deviates_from_nothing)
{
    struct summary summary = summary_of((const int64_t[]){42}, 1);
    assert_int_equal(summary.min, 42);
    assert_int_equal(summary.max, 42);
    assert_true(summary.average == 42 && summary.median == 42 && summary.deviation == 0);
}

UNIT_TEST(figures_of_a_known_sample)
{
    struct summary summary = summary_of((const int64_t[]){2, 4, 4, 4, 5, 5, 7, 9}, 8);
    assert_int_equal(summary.total, 40);
    assert_int_equal(summary.min, 2);
    assert_int_equal(summary.max, 9);
    assert_true(summary.average == 5);
    assert_true(summary.median == 4.5);
    assert_true(summary.deviation > 2.1380899 && summary.deviation < 2.1380900); /* sqrt(32 / 7) */
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static double sorted_median(const int64_t *values, size_t count)
{
    int64_t sorted[300];
    memcpy(sorted, values, count * sizeof(*values));
    qsort(sorted, count, sizeof(*sorted), compare);
    return ((double)sorted[(count - 1) / 2] + (double)sorted[count / 2]) / 2;
}

/* Against sorting: random, rising, falling and equal values of every count. */
UNIT_TEST(the_median_is_exact)
{
    unsigned seed = 1;
    for (size_t count = 1; count <= 300; count++) {
        int64_t values[4][300];
        for (size_t i = 0; i < count; i++) {
            seed = seed * 1664525 + 1013904223;
            values[0][i] = (int64_t)(seed >> 8) % (int64_t)(count + 3);
            values[1][i] = (int64_t)i;
            values[2][i] = (int64_t)(count - i);
            values[3][i] = 7;
        }
        for (int kind = 0; kind < 4; kind++)
            assert_true(summary_of(values[kind], count).median == sorted_median(values[kind], count));
    }
}

UNIT_TEST(a_total_too_large_stays_at_the_limit)
{
    assert_int_equal(summary_of((const int64_t[]){INT64_MAX, INT64_MAX, 5}, 3).total, INT64_MAX);
}

/* Of more values than are kept: durations as kernels have them, of two sorts. */
UNIT_TEST(of_many_values_the_median_is_known_to_half_a_percent)
{
    static int64_t values[100000];
    struct series series = {0};
    const size_t count = sizeof(values) / sizeof(*values);
    double squares = 0, total = 0;
    unsigned seed = 3;
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        values[i] = i % 3 ? 2000 + (seed >> 8) % 3000 : 1000000 + (seed >> 8) % 9000000;
        total += (double)values[i];
        assert_int_equal(series_add(&series, values[i]), 0);
    }
    struct summary summary = series_summary(&series);
    for (size_t i = 0; i < count; i++)
        squares += ((double)values[i] - total / (double)count) * ((double)values[i] - total / (double)count);
    qsort(values, count, sizeof(*values), compare);
    double exact = ((double)values[(count - 1) / 2] + (double)values[count / 2]) / 2;
    double deviation = sqrt(squares / (double)(count - 1));
    assert_int_equal(summary.count, count);
    assert_int_equal(summary.min, values[0]);
    assert_int_equal(summary.max, values[count - 1]);
    assert_true((double)summary.total == total);
    assert_true(fabs(summary.median - exact) <= exact * 0.005);
    assert_true(fabs(summary.deviation - deviation) <= deviation * 1e-9);
    assert_null(series.values.items); /* none is kept any more */
    series_release(&series);
}

UNIT_TEST(many_equal_values_are_reported_as_they_are)
{
    struct series series = {0};
    for (int i = 0; i < 3 * SERIES_EXACT; i++)
        assert_int_equal(series_add(&series, 123456789), 0);
    struct summary summary = series_summary(&series);
    assert_true(summary.median == 123456789 && summary.average == 123456789 && summary.deviation == 0);
    series_release(&series);
}

UNIT_TEST(up_to_a_number_of_values_the_median_is_exact)
{
    struct series series = {0};
    for (int i = 0; i < SERIES_EXACT; i++)
        assert_int_equal(series_add(&series, 1000001 * (int64_t)(i + 1)), 0);
    assert_true(series_summary(&series).median == 1000001 * (SERIES_EXACT + 1) / 2.0);
    series_release(&series);
}

static struct trimmed trimmed_of(const int64_t *values, size_t count)
{
    struct series series = {0};
    for (size_t i = 0; i < count; i++)
        assert_int_equal(series_add(&series, values[i]), 0);
    struct trimmed trimmed = series_trimmed(&series);
    series_release(&series);
    return trimmed;
}

/* Of ten values six count; pulled in they are 3 3 3 4 5 6 7 8 8 8, with 42.5 as the sum of their squares. */
UNIT_TEST(a_trimmed_mean_passes_over_a_fifth_on_each_side)
{
    struct trimmed trimmed = trimmed_of((const int64_t[]){10, 1, 9, 2, 8, 3, 7, 4, 6, 5}, 10);
    assert_true(trimmed.mean == 5.5);
    assert_true(trimmed.df == 5);
    assert_true(trimmed.variance > 1.416666 && trimmed.variance < 1.416667); /* 42.5 / (6 * 5) */
}

UNIT_TEST(outliers_do_not_move_the_trimmed_mean)
{
    struct trimmed usual = trimmed_of((const int64_t[]){10, 11, 12, 13, 14}, 5);
    struct trimmed outlier = trimmed_of((const int64_t[]){10, 11, 12, 13, 1400000}, 5);
    assert_true(usual.mean == 12 && outlier.mean == 12);
    assert_true(usual.variance == outlier.variance);
}

UNIT_TEST(of_three_and_four_values_the_outer_ones_do_not_count)
{
    struct trimmed none = trimmed_of(NULL, 0), one = trimmed_of((const int64_t[]){42}, 1);
    assert_true(none.mean == 0 && none.variance == 0 && none.df == 0);
    assert_true(one.mean == 42 && one.variance == 0 && one.df == 0);
    assert_true(trimmed_of((const int64_t[]){1, 6}, 2).mean == 3.5);
    assert_true(trimmed_of((const int64_t[]){1, 600, 2}, 3).mean == 2);
    assert_true(trimmed_of((const int64_t[]){1, 600, 2, 3}, 4).mean == 2.5);
}

UNIT_TEST(of_many_values_the_trimmed_mean_is_known_to_half_a_percent)
{
    struct series series = {0};
    for (int64_t i = 0; i < 50000; i++)
        assert_int_equal(series_add(&series, i % 10 == 9 ? 900000000 : 100000 + i % 100), 0);
    struct trimmed trimmed = series_trimmed(&series);
    assert_true(trimmed.mean > 100050 * 0.996 && trimmed.mean < 100050 * 1.004);
    assert_true(trimmed.df == 29999);

    series_release(&series);
}

static void spread(const struct series *series, uint64_t counts[10])
{
    memset(counts, 0, 10 * sizeof(*counts));
    series_spread(series, counts, 10);
}

UNIT_TEST(bins_are_in_equal_ratios_and_have_every_value_once)
{
    struct series few = {0}, many = {0};
    uint64_t exact[10], known_bins[10];
    for (int64_t value = 1; value <= 1024; value *= 2) /* each power of two begins a bin; the greatest is in the last */
        assert_int_equal(series_add(&few, value), 0);
    spread(&few, exact);
    for (int i = 0; i < 10; i++)
        assert_int_equal(exact[i], i == 9 ? 2 : 1);
    for (int i = 0; i < 5 * SERIES_EXACT; i++)
        assert_int_equal(series_add(&many, i % 2 ? 1000 : 1000000), 0);
    spread(&many, known_bins);
    assert_int_equal(known_bins[0] + known_bins[9], 5 * SERIES_EXACT);
    assert_int_equal(known_bins[0], 5 * SERIES_EXACT / 2);
    series_release(&few);
    series_release(&many);
}

UNIT_TEST(values_that_are_all_equal_are_in_the_first_bin)
{
    struct series series = {0};
    uint64_t counts[10];
    assert_int_equal(series_add(&series, 0), 0);
    assert_int_equal(series_add(&series, 0), 0);
    spread(&series, counts);
    assert_int_equal(counts[0], 2);
    series_release(&series);
}

UNIT_MAIN(NULL, NULL)
