#include "tests/unit.h"

#include "analysis/histogram.h"

/* The value that the histogram says VALUE is, when it holds nothing else. */
static int64_t known(int64_t value)
{
    struct histogram histogram = {0};
    assert_int_equal(histogram_add(&histogram, value), 0);
    int64_t result = histogram_rank(&histogram, 0);
    histogram_release(&histogram);
    return result;
}

static void small_values_are_exact(void **state)
{
    (void)state;
    for (int64_t value = 0; value < 256; value++)
        assert_int_equal(known(value), value);
    assert_int_equal(known(-5), 0);
    assert_int_equal(known(INT64_MIN), 0);
}

static void no_value_is_off_by_more_than_a_256th(void **state)
{
    (void)state;
    for (int power = 8; power < 63; power++)
        for (int64_t i = 0; i < 2000; i++) {
            int64_t value =
                (INT64_C(1) << power) + (power < 11 ? i % (1 << power) : i * ((INT64_C(1) << power) / 2000));
            int64_t error = known(value) - value;
            assert_true((error < 0 ? -error : error) <= value / 256);
        }
    assert_true(known(INT64_MAX) > INT64_MAX / 256 * 255);
}

static void ranks_are_those_of_sorted_values(void **state)
{
    (void)state;
    struct histogram histogram = {0};
    for (int64_t i = 99; i >= 0; i--)
        assert_int_equal(histogram_add(&histogram, i * 2), 0);
    for (uint64_t rank = 0; rank < 100; rank++)
        assert_int_equal(histogram_rank(&histogram, rank), rank * 2);
    histogram_release(&histogram);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_values_are_exact),
        cmocka_unit_test(no_value_is_off_by_more_than_a_256th),
        cmocka_unit_test(ranks_are_those_of_sorted_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
