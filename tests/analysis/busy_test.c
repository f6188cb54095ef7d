#include "tests/unit.h"

#include "analysis/busy.h"

static int64_t total_of(const int64_t (*intervals)[2], size_t count)
{
    struct busy busy = {0};
    for (size_t i = 0; i < count; i++)
        assert_int_equal(busy_add(&busy, intervals[i][0], intervals[i][1]), 0);
    int64_t total = busy_total(&busy);
    assert_int_equal(busy_total(&busy), total); /* asking changes nothing */
    busy_release(&busy);
    return total;
}

static void of_nothing_it_is_nothing(void **state)
{
    (void)state;
    assert_int_equal(total_of(NULL, 0), 0);
}

static void what_overlaps_counts_once(void **state)
{
    (void)state;
    assert_int_equal(total_of((const int64_t[][2]){{0, 10}, {5, 15}, {15, 20}, {30, 40}}, 4), 30);
    assert_int_equal(total_of((const int64_t[][2]){{0, 100}, {10, 20}, {30, 40}}, 3), 100);
}

static void order_does_not_matter(void **state)
{
    (void)state;
    assert_int_equal(total_of((const int64_t[][2]){{30, 40}, {5, 15}, {0, 10}, {15, 20}}, 4), 30);
    assert_int_equal(total_of((const int64_t[][2]){{10, 20}, {0, 100}, {0, 5}, {90, 110}}, 4), 110);
}

/* Against a map of every nanosecond. */
static void random_intervals_agree_with_counting(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int round = 0; round < 200; round++) {
        struct busy busy = {0};
        char used[256] = "";
        int64_t expected = 0;
        for (int i = 0; i < 20; i++) {
            seed = seed * 1664525 + 1013904223;
            int64_t start = (seed >> 8) % 200, end = start + (seed >> 20) % 50;
            assert_int_equal(busy_add(&busy, start, end), 0);
            memset(used + start, 1, (size_t)(end - start));
        }
        for (size_t i = 0; i < sizeof(used); i++)
            expected += used[i];
        assert_int_equal(busy_total(&busy), expected);
        busy_release(&busy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_nothing_it_is_nothing),
        cmocka_unit_test(what_overlaps_counts_once),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(random_intervals_agree_with_counting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
