#include "trace/meaning/base/times.h"

#include "tests/unit.h"

static void put(struct capture_intervals *capture_intervals, uint64_t time, bool on)
{
    struct event event = {.type = EVENT_CAPTURE, .start = time, .capture.on = on};
    assert_int_equal(capture_intervals_mark(capture_intervals, &event), 0);
}

UNIT_TEST(without_marks_everything_counts)
{
    struct capture_intervals capture_intervals = {0};
    capture_intervals_close(&capture_intervals);
    assert_true(capture_intervals_hold(&capture_intervals, 0));
    assert_true(capture_intervals_hold(&capture_intervals, UINT64_MAX));
    assert_true(capture_intervals_end(&capture_intervals, 5) == UINT64_MAX);
}

UNIT_TEST(recording_that_never_went_off_has_no_borders)
{
    struct capture_intervals capture_intervals = {0};
    put(&capture_intervals, 100, true);
    capture_intervals_close(&capture_intervals);
    assert_false(capture_intervals.limited);
    assert_true(capture_intervals_hold(&capture_intervals, 50));
    capture_intervals_release(&capture_intervals);
}

UNIT_TEST(windows_lie_between_marks_of_any_order)
{
    struct capture_intervals capture_intervals = {0};
    put(&capture_intervals, 300, true);
    put(&capture_intervals, 10, false);
    put(&capture_intervals, 200, false);
    put(&capture_intervals, 100, true);
    capture_intervals_close(&capture_intervals);
    const struct {
        uint64_t time;
        bool held;
        uint64_t end;
    } expected[] = {{5, false, 10},   {50, false, 200},         {99, false, 200},       {100, true, 200},
                    {199, true, 200}, {200, false, UINT64_MAX}, {300, true, UINT64_MAX}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(capture_intervals_hold(&capture_intervals, expected[i].time), expected[i].held);
        if (expected[i].held)
            assert_true(capture_intervals_end(&capture_intervals, expected[i].time) == expected[i].end);
    }
    capture_intervals_release(&capture_intervals);
}

UNIT_TEST(what_comes_before_the_first_mark_is_as_that_mark)
{
    struct capture_intervals capture_intervals = {0};
    put(&capture_intervals, 100, true);
    put(&capture_intervals, 200, false);
    capture_intervals_close(&capture_intervals);
    assert_true(capture_intervals_hold(&capture_intervals,
                                       99)); /* a forked child's first event comes while its spool is opened */
    assert_false(capture_intervals_hold(&capture_intervals, 250));
    capture_intervals_release(&capture_intervals);
}

UNIT_MAIN(NULL, NULL)
