#include "tests/unit.h"

#include "trace/build/plugin_windows.h"

static void test_no_windows_hold_nothing(void **state)
{
    (void)state;
    struct plugin_windows windows = {0};
    plugin_windows_close(&windows);
    assert_false(plugin_windows_any(&windows));
    assert_false(plugin_windows_hold(&windows, 1, 10, 20));
    plugin_windows_release(&windows);
}

static void test_times_within_a_window_of_the_thread_are_held(void **state)
{
    (void)state;
    struct plugin_windows windows = {0};
    /* In no order, and of two threads in turn. */
    assert_int_equal(plugin_windows_add(&windows, 1, 300, 400), 0);
    assert_int_equal(plugin_windows_add(&windows, 2, 150, 160), 0);
    assert_int_equal(plugin_windows_add(&windows, 1, 100, 200), 0);
    plugin_windows_close(&windows);
    assert_true(plugin_windows_any(&windows));
    assert_true(plugin_windows_hold(&windows, 1, 100, 200));
    assert_true(plugin_windows_hold(&windows, 1, 350, 350));
    assert_false(plugin_windows_hold(&windows, 1, 99, 150));
    assert_false(plugin_windows_hold(&windows, 1, 150, 201));
    assert_false(plugin_windows_hold(&windows, 1, 150, 350));
    assert_false(plugin_windows_hold(&windows, 1, 250, 260));
    assert_false(plugin_windows_hold(&windows, 1, 401, 402));
    assert_false(plugin_windows_hold(&windows, 2, 100, 155));
    assert_true(plugin_windows_hold(&windows, 2, 150, 155));
    assert_false(plugin_windows_hold(&windows, 3, 150, 155));
    plugin_windows_release(&windows);
}

static void test_windows_within_and_across_one_another_are_one(void **state)
{
    (void)state;
    struct plugin_windows windows = {0};
    static const uint64_t spans[][2] = {{100, 500}, {200, 300}, {450, 600}, {600, 700}, {800, 900}};
    for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++)
        assert_int_equal(plugin_windows_add(&windows, 1, spans[i][0], spans[i][1]), 0);
    plugin_windows_close(&windows);
    assert_true(plugin_windows_hold(&windows, 1, 350, 400)); /* the latest that began is over by then */
    assert_true(plugin_windows_hold(&windows, 1, 150, 700));
    assert_false(plugin_windows_hold(&windows, 1, 650, 850));
    plugin_windows_release(&windows);
}

static void test_every_one_of_many_is_found(void **state)
{
    (void)state;
    struct plugin_windows windows = {0};
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(plugin_windows_add(&windows, (uint32_t)(i % 7), i * 100, i * 100 + 50), 0);
    plugin_windows_close(&windows);
    for (uint64_t i = 0; i < 1000; i++) {
        uint32_t thread = (uint32_t)(i % 7);
        assert_true(plugin_windows_hold(&windows, thread, i * 100, i * 100 + 50));
        assert_false(plugin_windows_hold(&windows, thread, i * 100 + 40, i * 100 + 51));
        assert_false(plugin_windows_hold(&windows, (thread + 1) % 7, i * 100, i * 100 + 50));
    }
    plugin_windows_release(&windows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_windows_hold_nothing),
        cmocka_unit_test(test_times_within_a_window_of_the_thread_are_held),
        cmocka_unit_test(test_windows_within_and_across_one_another_are_one),
        cmocka_unit_test(test_every_one_of_many_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
