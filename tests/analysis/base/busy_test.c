#include "tests/unit.h"

#include "analysis/base/busy.h"

/* GPU busy time of rows, against a map of every nanosecond. */

#define ROWS 3
#define GPUS 2
#define TIMES 3000

UNIT_TEST(what_overlaps_counts_once_and_gpus_are_summed)
{
    struct sorter_space space = sorter_space_usual();
    struct range_busy busy = {0};
    busy_init(&busy.busy, &space);
    assert_int_equal(range_busy_add(&busy, 2, 0, 100, 50), 0);
    assert_int_equal(range_busy_add(&busy, 2, 0, 120, 50), 0);
    assert_int_equal(range_busy_add(&busy, 2, 0, 10, 5), 0); /* later, though it ran before */
    assert_int_equal(range_busy_add(&busy, 2, 1, 100, 50), 0);
    assert_int_equal(range_busy_add(&busy, 0, 0, 100, 1), 0);
    assert_int_equal(range_busy_finish(&busy), 0);
    assert_int_equal(range_busy_total(&busy, 0), 1);
    assert_int_equal(range_busy_total(&busy, 1), 0);
    assert_int_equal(range_busy_total(&busy, 2), 70 + 5 + 50);
    assert_int_equal(range_busy_total(&busy, 99), 0);
    range_busy_release(&busy);
}

UNIT_TEST(of_nothing_it_is_nothing)
{
    struct sorter_space space = sorter_space_usual();
    struct range_busy unused = {0}, busy = {0};
    range_busy_release(&unused);
    busy_init(&busy.busy, &space);
    assert_int_equal(range_busy_finish(&busy), 0);
    assert_int_equal(range_busy_total(&busy, 0), 0);
    range_busy_release(&busy);
}

/* In little memory, so that most is in the temporary file. */
UNIT_TEST(random_operations_agree_with_counting)
{
    static char used[ROWS][GPUS][TIMES + 64];
    for (unit_seed = 1; unit_seed < 40; unit_seed++) {
        struct sorter_space space = {.left = 512, .run = 256};
        struct range_busy busy = {0};
        memset(used, 0, sizeof(used));
        busy_init(&busy.busy, &space);
        for (int i = 0; i < 400; i++) {
            unsigned row = unit_random_below(ROWS), gpu = unit_random_below(GPUS), start = unit_random_below(TIMES);
            unsigned duration = unit_random_below(40);
            assert_int_equal(range_busy_add(&busy, row, gpu, start, duration), 0);
            memset(used[row][gpu] + start, 1, duration);
        }
        assert_int_equal(range_busy_finish(&busy), 0);
        for (unsigned row = 0; row < ROWS; row++) {
            int64_t expected = 0;
            for (size_t i = 0; i < sizeof(used[row]); i++)
                expected += ((char *)used[row])[i];
            assert_int_equal(range_busy_total(&busy, row), expected);
        }
        range_busy_release(&busy);
    }
}

UNIT_MAIN(NULL, NULL)
