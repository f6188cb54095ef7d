/* How long launches have callbacks in vain. */
#include "agent/cupti/kernel_names.h"

#include "common/clock.h"
#include "tests/agent/cupti/launching.h"
#include "tests/unit.h"

static void patience_ends_with_launches_of_others(void **state)
{
    (void)state;
    get_function("late");
    launch_others(FIRST_LAUNCHES_BUDGET - 1);
    assert_true(launches_are_on());
    launch_others(1);
    assert_false(launches_are_on());
    launch("late");
    assert_int_equal(told.count, 0);
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

static void patience_comes_back_with_time(void **state)
{
    (void)state;
    uint64_t now = now_on();
    get_function("late");
    launch_others(FIRST_LAUNCHES_BUDGET);
    first_launches_renew(now + WHOLE_AGAIN / 2);
    assert_false(launches_are_on());
    first_launches_renew(now + WHOLE_AGAIN);
    assert_true(launches_are_on());
    launch("late");
    assert_int_equal(told.count, 1);
    assert_string_equal(told.text, "late");
    assert_false(launches_are_on());
}

static void who_launches_seldom_is_heard_all_the_time(void **state)
{
    (void)state;
    uint64_t now = now_on();
    get_function("late");
    for (unsigned i = 1; i <= 1000; i++) {
        launch_others(FIRST_LAUNCHES_PER_MS * 10);
        assert_true(launches_are_on());
        first_launches_renew(now + i * 10 * NS_PER_MS);
    }
    launch("late");
    assert_string_equal(told.text, "late");
}

/* Of one that launches as fast as it can: a second. */
static void a_hundredth_of_the_time_is_the_most_that_hearing_takes(void **state)
{
    (void)state;
    uint64_t now = now_on(), launched = 0;
    get_function("late");
    for (unsigned ms = 1; ms <= 1000; ms++) {
        for (unsigned i = 0; i < 250 && launches_are_on(); i++, launched++)
            launch_others(1);
        first_launches_renew(now + ms * NS_PER_MS);
    }
    assert_in_range(launched, FIRST_LAUNCHES_PER_MS * 900, FIRST_LAUNCHES_PER_MS * 1000 + FIRST_LAUNCHES_BUDGET);
}

static void where_nothing_waits_time_changes_nothing(void **state)
{
    (void)state;
    now_on();
    assert_false(launches_are_on());
}

static void a_first_launch_renews_the_patience(void **state)
{
    (void)state;
    get_function("one");
    get_function("two");
    launch_others(FIRST_LAUNCHES_BUDGET - 1);
    launch("one");
    launch_others(FIRST_LAUNCHES_BUDGET - 1);
    launch("two");
    assert_int_equal(told.count, 2);
    assert_false(launches_are_on());
}

static void launches_without_a_symbol_are_heard_in_vain(void **state)
{
    (void)state;
    get_function("late");
    for (unsigned i = 0; i < FIRST_LAUNCHES_BUDGET; i++)
        launch(NULL);
    assert_int_equal(told.count, 0);
    assert_false(launches_are_on());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(patience_ends_with_launches_of_others, launching_clear),
        cmocka_unit_test_teardown(patience_comes_back_with_time, launching_clear),
        cmocka_unit_test_teardown(who_launches_seldom_is_heard_all_the_time, launching_clear),
        cmocka_unit_test_teardown(a_hundredth_of_the_time_is_the_most_that_hearing_takes, launching_clear),
        cmocka_unit_test_teardown(where_nothing_waits_time_changes_nothing, launching_clear),
        cmocka_unit_test_teardown(a_first_launch_renews_the_patience, launching_clear),
        cmocka_unit_test_teardown(launches_without_a_symbol_are_heard_in_vain, launching_clear),
    };
    return cmocka_run_group_tests_name("agent/cupti/first_launches: budget", tests, launching_start, NULL);
}
