#include "base/intervals.h"

#include <stdbool.h>

#include "tests/unit.h"

enum { MANY = 300 };

struct seen {
    unsigned count;
    uint32_t what[MANY];
    unsigned stop_after;
};

static int see(void *context, uint32_t what)
{
    struct seen *seen = context;
    seen->what[seen->count++] = what;
    return seen->stop_after && seen->count == seen->stop_after ? 7 : 0;
}

static void test_none_hold_anything(void **state)
{
    (void)state;
    struct intervals none = {0};
    struct seen seen = {0};
    intervals_ready(&none);
    assert_int_equal(intervals_each(&none, 5, see, &seen), 0);
    assert_int_equal(seen.count, 0);
    intervals_release(&none);
}

static void test_both_ends_belong_to_an_interval(void **state)
{
    (void)state;
    struct intervals intervals = {0};
    assert_int_equal(intervals_add(&intervals, 10, 20, 1), 0);
    intervals_ready(&intervals);
    const int64_t points[] = {9, 10, 15, 20, 21};
    const unsigned wanted[] = {0, 1, 1, 1, 0};
    for (int i = 0; i < 5; i++) {
        struct seen seen = {0};
        intervals_each(&intervals, points[i], see, &seen);
        assert_int_equal(seen.count, wanted[i]);
    }
    intervals_release(&intervals);
}

static void test_outer_ones_come_first_and_the_walk_can_be_ended(void **state)
{
    (void)state;
    struct intervals intervals = {0};
    intervals_add(&intervals, 0, 40, 3);
    intervals_add(&intervals, 0, 100, 1);
    intervals_add(&intervals, 10, 30, 4);
    intervals_add(&intervals, 0, 100, 2);
    intervals_ready(&intervals);
    struct seen all = {0}, two = {.stop_after = 2};
    assert_int_equal(intervals_each(&intervals, 20, see, &all), 0);
    assert_int_equal(all.count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(all.what[i], i + 1);
    assert_int_equal(intervals_each(&intervals, 20, see, &two), 7);
    assert_int_equal(two.count, 2);
    intervals_release(&intervals);
}

/* However they overlap: against looking at each. */
static void test_random_ones_are_found_as_by_looking_at_each(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (unsigned round = 0; round < 50; round++) {
        struct intervals intervals = {0};
        int64_t starts[MANY], ends[MANY];
        for (uint32_t i = 0; i < MANY; i++) {
            seed = seed * 1664525 + 1013904223;
            starts[i] = (seed >> 8) % 1000;
            ends[i] = starts[i] + (seed >> 20) % (round % 2 ? 20 : 1000);
            assert_int_equal(intervals_add(&intervals, starts[i], ends[i], i), 0);
        }
        intervals_ready(&intervals);
        for (int64_t point = -1; point < 2001; point += 7) {
            struct seen seen = {0};
            bool found[MANY] = {false};
            unsigned wanted = 0;
            intervals_each(&intervals, point, see, &seen);
            for (unsigned i = 0; i < seen.count; i++)
                found[seen.what[i]] = true;
            for (unsigned i = 0; i < MANY; i++) {
                bool holds = starts[i] <= point && point <= ends[i];
                assert_int_equal(found[i], holds);
                wanted += holds;
            }
            assert_int_equal(seen.count, wanted);
        }
        intervals_release(&intervals);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none_hold_anything),
        cmocka_unit_test(test_both_ends_belong_to_an_interval),
        cmocka_unit_test(test_outer_ones_come_first_and_the_walk_can_be_ended),
        cmocka_unit_test(test_random_ones_are_found_as_by_looking_at_each),
    };
    return cmocka_run_group_tests_name("intervals", tests, NULL, NULL);
}
