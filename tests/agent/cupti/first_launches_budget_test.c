/* How long launches have callbacks in vain. */
#include "agent/cupti/kernel_names.h"

#include "common/clock.h"
#include "tests/agent/cupti/launching.h"
#include "tests/unit.h"

UNIT_TEST_WITH(patience_ends_with_launches_of_others, NULL, launching_clear)
{
    get_function("late");
    launch_others(FIRST_LAUNCHES_BUDGET - 1);
    assert_true(launches_are_on());
    launch_others(1);
    assert_false(launches_are_on());
    launch("late");
    assert_int_equal(published.count, 0);
}

/* Time goes by from here on; nothing is owed for what went by before. */
static uint64_t now_on(void)
{
    static uint64_t now = 1000 * NS_PER_S;
    now += 1000 * NS_PER_S;
    first_launches_renew(now);
    return now;
}

#define WHOLE_AGAIN (FIRST_LAUNCHES_BUDGET / FIRST_LAUNCHES_PER_MS * NS_PER_MS + NS_PER_MS)

UNIT_TEST_WITH(patience_comes_back_with_time, NULL, launching_clear)
{
    uint64_t now = now_on();
    get_function("late");
    launch_others(FIRST_LAUNCHES_BUDGET);
    first_launches_renew(now + WHOLE_AGAIN / 2);
    assert_false(launches_are_on());
    first_launches_renew(now + WHOLE_AGAIN);
    assert_true(launches_are_on());
    launch("late");
    assert_int_equal(published.count, 1);
    assert_string_equal(published.text, "late");
    assert_false(launches_are_on());
}

UNIT_TEST_WITH(who_launches_seldom_is_heard_all_the_time, NULL, launching_clear)
{
    uint64_t now = now_on();
    get_function("late");
    for (unsigned i = 1; i <= 1000; i++) {
        launch_others(FIRST_LAUNCHES_PER_MS * 10);
        assert_true(launches_are_on());
        first_launches_renew(now + i * 10 * NS_PER_MS);
    }
    launch("late");
    assert_string_equal(published.text, "late");
}

/* Of one that launches as fast as it can: a second. */
UNIT_TEST_WITH(a_hundredth_of_the_time_is_the_most_that_hearing_takes, NULL, launching_clear)
{
    uint64_t now = now_on(), launched = 0;
    get_function("late");
    for (unsigned ms = 1; ms <= 1000; ms++) {
        for (unsigned i = 0; i < 250 && launches_are_on(); i++, launched++)
            launch_others(1);
        first_launches_renew(now + ms * NS_PER_MS);
    }
    assert_in_range(launched, FIRST_LAUNCHES_PER_MS * 900, FIRST_LAUNCHES_PER_MS * 1000 + FIRST_LAUNCHES_BUDGET);
}

UNIT_TEST_WITH(where_nothing_waits_time_changes_nothing, NULL, launching_clear)
{
    now_on();
    assert_false(launches_are_on());
}

UNIT_TEST_WITH(a_first_launch_renews_the_patience, NULL, launching_clear)
{
    get_function("one");
    get_function("two");
    launch_others(FIRST_LAUNCHES_BUDGET - 1);
    launch("one");
    launch_others(FIRST_LAUNCHES_BUDGET - 1);
    launch("two");
    assert_int_equal(published.count, 2);
    assert_false(launches_are_on());
}

UNIT_TEST_WITH(launches_without_a_symbol_are_heard_in_vain, NULL, launching_clear)
{
    get_function("late");
    for (unsigned i = 0; i < FIRST_LAUNCHES_BUDGET; i++)
        launch(NULL);
    assert_int_equal(published.count, 0);
    assert_false(launches_are_on());
}

UNIT_MAIN(launching_start, NULL)
