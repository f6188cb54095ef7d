#include "trace/meaning/base/times.h"

#include <stddef.h>

#include "tests/unit.h"

#define S INT64_C(1000000000)
#define OFFSET (1790000000 * S)
#define ANY ((struct clock_hint){INT64_MIN, INT64_MAX})

/* Started at 100 s, stepped by STEP at 130 s, between looks at 129.9 s and 130.1 s, looked at for the last time at 160
 * s. */
static struct clock_axis stepped(int64_t step)
{
    struct clock_axis axis = {0};
    assert_int_equal(clock_axis_start(&axis, 100 * S, OFFSET), 0);
    assert_int_equal(clock_axis_step(&axis, 130 * S - S / 10, 130 * S + S / 10, OFFSET + step), 0);
    clock_axis_end(&axis, 160 * S);
    clock_axis_refer(&axis, OFFSET);
    return axis;
}

static int64_t place(const struct clock_axis *axis, int64_t time, struct clock_hint hint)
{
    const struct clock_stretch *stretch = clock_axis_find(axis, (uint64_t)time, hint, NULL);
    assert_non_null(stretch);
    return (int64_t)clock_axis_place(axis, stretch, (uint64_t)time) - OFFSET;
}

UNIT_TEST(steps_of_any_size_and_sign_leave_times_where_they_were)
{
    static const int64_t steps[] = {3600 * S, -3600 * S, 86400 * 365 * S, 45 * S, -200 * S};
    (void)state;
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct clock_axis axis = stepped(steps[i]);
        for (int64_t at = 100 * S; at <= 160 * S; at += S / 20) {
            int64_t time = OFFSET + at + (at >= 130 * S ? steps[i] : 0);
            assert_int_equal(place(&axis, time, ANY), at);
        }
        array_release(&axis.stretches);
    }
}

UNIT_TEST(a_time_that_came_twice_is_placed_by_when_it_was_written)
{
    struct clock_axis axis = stepped(-10 * S);
    int64_t twice = OFFSET + 125 * S; /* at 125 s, and at 135 s */
    assert_int_equal(place(&axis, twice, ((struct clock_hint){100 * S, 126 * S})), 125 * S);
    assert_int_equal(place(&axis, twice, ((struct clock_hint){130 * S, INT64_MAX})), 135 * S);
    array_release(&axis.stretches);
}

UNIT_TEST(a_process_that_began_after_the_step_is_on_the_axis_of_the_first)
{
    struct clock_axis axis = {0};
    assert_int_equal(clock_axis_start(&axis, 140 * S, OFFSET + 3600 * S), 0);
    assert_false(axis.stepped);
    clock_axis_refer(&axis, OFFSET);
    assert_true(axis.stepped);
    assert_int_equal(place(&axis, OFFSET + 3600 * S + 150 * S, ANY), 150 * S);
    array_release(&axis.stretches);
}

UNIT_TEST(clocks_that_nobody_set_leave_every_time_as_it_is)
{
    struct clock_axis axis = {0};
    assert_int_equal(clock_axis_start(&axis, 140 * S, OFFSET + 500), 0);
    clock_axis_refer(&axis, OFFSET);
    assert_false(axis.stepped);
    array_release(&axis.stretches);
}

UNIT_MAIN(NULL, NULL)
