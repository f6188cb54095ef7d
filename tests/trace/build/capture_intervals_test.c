#include "trace/build/capture_intervals.h"

#include "tests/unit.h"

static void put(struct windows *windows, uint64_t time, bool on)
{
    struct event event = {.type = EVENT_CAPTURE, .start = time, .capture.on = on};
    assert_int_equal(windows_mark(windows, &event), 0);
}

static void without_marks_everything_counts(void **state)
{
    (void)state;
    struct windows windows = {0};
    windows_close(&windows);
    assert_true(windows_hold(&windows, 0));
    assert_true(windows_hold(&windows, UINT64_MAX));
    assert_true(windows_end(&windows, 5) == UINT64_MAX);
}

static void recording_that_never_went_off_has_no_borders(void **state)
{
    (void)state;
    struct windows windows = {0};
    put(&windows, 100, true);
    windows_close(&windows);
    assert_false(windows.limited);
    assert_true(windows_hold(&windows, 50));
    windows_release(&windows);
}

static void windows_lie_between_marks_of_any_order(void **state)
{
    (void)state;
    struct windows windows = {0};
    put(&windows, 300, true);
    put(&windows, 10, false);
    put(&windows, 200, false);
    put(&windows, 100, true);
    windows_close(&windows);
    const struct {
        uint64_t time;
        bool held;
        uint64_t end;
    } expected[] = {{5, false, 10},   {50, false, 200},         {99, false, 200},       {100, true, 200},
                    {199, true, 200}, {200, false, UINT64_MAX}, {300, true, UINT64_MAX}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(windows_hold(&windows, expected[i].time), expected[i].held);
        if (expected[i].held)
            assert_true(windows_end(&windows, expected[i].time) == expected[i].end);
    }
    windows_release(&windows);
}

static void what_comes_before_the_first_mark_is_as_that_mark(void **state)
{
    (void)state;
    struct windows windows = {0};
    put(&windows, 100, true);
    put(&windows, 200, false);
    windows_close(&windows);
    assert_true(windows_hold(&windows, 99)); /* a forked child's first event comes while its spool is opened */
    assert_false(windows_hold(&windows, 250));
    windows_release(&windows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_marks_everything_counts),
        cmocka_unit_test(recording_that_never_went_off_has_no_borders),
        cmocka_unit_test(windows_lie_between_marks_of_any_order),
        cmocka_unit_test(what_comes_before_the_first_mark_is_as_that_mark),
    };
    return cmocka_run_group_tests_name("trace/build/capture_intervals", tests, NULL, NULL);
}
