#include "tests/unit.h"

#include "trace/merge/merge_numbers.h"

#define NOON UINT64_C(1758000000000000000)

static struct merge with_clock(struct merge_host *host, int64_t offset, double ppm)
{
    *host = (struct merge_host){.clock = {.known = true, .offset = offset, .drift = ppm * 1e-6, .since = NOON}};
    struct merge merge = {.hosts = {.items = host, .count = 1}};
    return merge;
}

UNIT_TEST(a_time_becomes_earlier_by_what_the_clock_is_ahead)
{
    static const struct merge_process process;
    struct merge_host host;
    struct merge merge = with_clock(&host, 50000000, 50);
    assert_true(merge_time(&merge, &process, NOON) == NOON - 50000000);
    assert_true(merge_time(&merge, &process, NOON + 1000000000) == NOON + 1000000000 - 50000000 - 50000);
    assert_true(merge_time(&merge, &process, NOON - 1000000000) == NOON - 1000000000 - 50000000 + 50000);
    merge = with_clock(&host, -50000000, 0);
    assert_true(merge_time(&merge, &process, NOON) == NOON + 50000000);
    merge = with_clock(&host, 0, 0);
    assert_true(merge_time(&merge, &process, NOON + 7) == NOON + 7);
}

UNIT_TEST(no_time_overtakes_another)
{
    static const struct merge_process process;
    static const double drifts[] = {-50, 50, 3.3, -400000, 400000};
    for (size_t i = 0; i < sizeof(drifts) / sizeof(*drifts); i++) {
        struct merge_host host;
        struct merge merge = with_clock(&host, 12345, drifts[i]);
        uint64_t before = 0;
        for (uint64_t time = NOON - 50000; time < NOON + 50000; time++) {
            uint64_t corrected = merge_time(&merge, &process, time);
            assert_true(corrected >= before);
            before = corrected;
        }
    }
}

UNIT_TEST(a_time_before_all_clocks_stays_one)
{
    static const struct merge_process process;
    struct merge_host host;
    struct merge merge = with_clock(&host, 1000, 0);
    assert_true(merge_time(&merge, &process, 5) == 0);
    host.clock.since = 0;
    assert_true(merge_time(&merge, &process, 5000) == 4000);
}

UNIT_MAIN(NULL, NULL)
