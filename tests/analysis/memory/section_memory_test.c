#include "tests/unit.h"

#include "analysis/memory/section_memory.h"

/* The greatest value of all buckets, and the value that was set last. */
static int64_t greatest(const struct levels *levels)
{
    int64_t most = INT64_MIN;
    for (int64_t number = levels->first; number <= levels->last; number++)
        if (levels_at(levels, number)->any && levels_at(levels, number)->most > most)
            most = levels_at(levels, number)->most;
    return most;
}

static int64_t last(const struct levels *levels)
{
    return levels_at(levels, levels->last)->end;
}

UNIT_TEST(values_that_are_near_share_a_bucket)
{
    struct levels levels = {0};
    levels_set(&levels, 5000, 7);
    levels_set(&levels, 5001, 9);
    levels_set(&levels, 5002, 3);
    assert_int_equal(levels.first, levels.last);
    assert_int_equal(greatest(&levels), 9);
    assert_int_equal(last(&levels), 3);
}

UNIT_TEST(any_length_of_time_fits_and_no_peak_is_lost)
{
    struct levels levels = {0};
    for (int64_t i = 0; i < 100000; i++)
        levels_set(&levels, i * 1000000, i == 777 ? 1000 : i % 10);
    assert_true(levels.last - levels.first < LEVELS_MOST);
    assert_true(levels.last - levels.first >= LEVELS_MOST / 2 - 1);
    assert_int_equal(greatest(&levels), 1000);
    assert_int_equal(last(&levels), 9);
    int64_t number = 777 * INT64_C(1000000) / levels.width;
    assert_int_equal(levels_at(&levels, number)->most, 1000);
}

UNIT_TEST(times_may_come_in_any_order)
{
    struct levels ordered = {0}, reversed = {0};
    for (int64_t i = -2000; i < 2000; i++)
        levels_set(&ordered, i * 100000, i);
    for (int64_t i = 1999; i >= -2000; i--)
        levels_set(&reversed, i * 100000, i);
    assert_int_equal(ordered.width, reversed.width);
    assert_int_equal(ordered.first, reversed.first);
    assert_int_equal(ordered.last, reversed.last);
    for (int64_t number = ordered.first; number <= ordered.last; number++) {
        assert_int_equal(levels_at(&ordered, number)->most, levels_at(&reversed, number)->most);
        assert_int_equal(levels_at(&ordered, number)->end, levels_at(&reversed, number)->end);
    }
}

UNIT_TEST(times_at_the_ends_of_what_an_event_may_have_fit)
{
    struct levels levels = {0};
    levels_set(&levels, INT64_MAX / 2, 1);
    levels_set(&levels, INT64_MIN / 2, 2);
    assert_true(levels.last - levels.first < LEVELS_MOST);
    assert_int_equal(greatest(&levels), 2);
    assert_int_equal(last(&levels), 1);
}

UNIT_MAIN(NULL, NULL)
