#include "tests/unit.h"

#include "trace/windows.h"

UNIT_TEST(windows_are_put_in_order_and_joined)
{
    struct windows windows = {0};
    assert_int_equal(windows_add(&windows, 30, 40), 0);
    assert_int_equal(windows_add(&windows, 10, 20), 0);
    assert_int_equal(windows_add(&windows, 20, 25), 0);
    assert_int_equal(windows_add(&windows, 12, 14), 0);
    assert_int_equal(windows_add(&windows, 50, 50), 0); /* it has its start */
    assert_int_equal(windows_finish(&windows), 0);
    assert_int_equal(windows.items.count, 3);
    assert_int_equal(windows.items.items[0].start, 10);
    assert_int_equal(windows.items.items[0].end, 25);
    assert_null(windows_around(&windows, 9));
    assert_ptr_equal(windows_around(&windows, 10), &windows.items.items[0]);
    assert_ptr_equal(windows_around(&windows, 24), &windows.items.items[0]);
    assert_null(windows_around(&windows, 25));
    assert_ptr_equal(windows_around(&windows, 50), &windows.items.items[2]);
    assert_null(windows_around(&windows, 51));
    assert_ptr_equal(windows_next(&windows, 0), &windows.items.items[0]);
    assert_ptr_equal(windows_next(&windows, 25), &windows.items.items[1]);
    assert_null(windows_next(&windows, 51));
    windows_release(&windows);
}

UNIT_TEST(without_windows_no_time_is_in_one)
{
    struct windows windows = {0};
    assert_int_equal(windows_finish(&windows), 0);
    assert_null(windows_around(&windows, 0));
    windows_release(&windows);
}

UNIT_TEST(bounds_are_times_since_the_start_or_shares)
{
    const struct time_bound from = {.text = "25%", .is_share = true, .percent = 25}, to = {.text = "60ns", .ns = 60};
    const struct time_bound none = {0}, late = {.text = "1s", .ns = 1000000000};
    int64_t times[2];
    assert_int_equal(time_bounds_resolve(&from, &to, "t", NULL, 1000, 1100, times), 0);
    assert_int_equal(times[0], 1025);
    assert_int_equal(times[1], 1060);
    assert_int_equal(time_bounds_resolve(&none, &late, "t", NULL, 1000, 1100, times), 0);
    assert_int_equal(times[0], 1000);
    assert_int_equal(times[1], 1100);
    unit_stderr_begin();
    assert_int_equal(time_bounds_resolve(&late, &none, "t", NULL, 1000, 1100, times), -1);
    assert_contains(unit_stderr_end(), "--from=1s is after the end of 't'");
}

UNIT_TEST(the_number_of_an_occurrence_is_behind_the_last_slash)
{
    static const struct {
        const char *text;
        size_t length;
        uint64_t occurrence;
    } rows[] = {
        {"step/3", 4, 3}, {"a/b/12", 3, 12}, {"step", 0, 0}, {"step/", 0, 0},   {"step/0", 0, 0},
        {"/3", 0, 0},     {"step/3x", 0, 0}, {"", 0, 0},     {"step/-1", 0, 0}, {"s/99999999999999999999", 0, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint64_t occurrence = 0;
        assert_int_equal(range_name_split(rows[i].text, &occurrence), rows[i].length);
        if (rows[i].length > 0)
            assert_int_equal(occurrence, rows[i].occurrence);
    }
}

UNIT_MAIN(NULL, NULL)
