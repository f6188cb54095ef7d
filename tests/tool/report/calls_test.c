#include "tests/unit.h"

#include "tool/report/calls.h"

static void add(struct calls *calls, uint32_t correlation, uint32_t process, int64_t start, int64_t end, uint32_t name)
{
    struct call call = {.correlation = correlation, .process = process, .start = start, .end = end, .name = name};
    assert_int_equal(calls_add(calls, &call), 0);
}

static void the_outer_of_nested_calls_is_found(void **state)
{
    (void)state;
    struct calls calls = {0};
    add(&calls, 7, 0, 110, 190, 2); /* the driver's within the runtime's, which may come later in the file */
    add(&calls, 7, 0, 100, 200, 1);
    add(&calls, 6, 0, 50, 60, 3);
    calls_sort(&calls);
    assert_int_equal(calls_find(&calls, 7, 300)->name, 1);
    assert_int_equal(calls_find(&calls, 6, 300)->name, 3);
    assert_true(calls_is_outermost(&calls, 0));
    assert_true(calls_is_outermost(&calls, 1));
    assert_false(calls_is_outermost(&calls, 2));
    calls_release(&calls);
}

static void a_correlation_that_no_call_has_is_not_found(void **state)
{
    (void)state;
    struct calls calls = {0};
    calls_sort(&calls);
    assert_null(calls_find(&calls, 1, 0));
    add(&calls, 2, 0, 0, 1, 1);
    calls_sort(&calls);
    const int64_t wrong[] = {1, 3, -1, INT64_MIN, INT64_MAX, INT64_C(0x100000002)};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_null(calls_find(&calls, wrong[i], 10));
    calls_release(&calls);
}

static void of_several_processes_the_last_to_start_before_counts(void **state)
{
    (void)state;
    struct calls calls = {0};
    add(&calls, 5, 0, 100, 110, 1);
    add(&calls, 5, 1, 200, 210, 2);
    add(&calls, 5, 2, 300, 310, 3);
    calls_sort(&calls);
    assert_int_equal(calls_find(&calls, 5, 150)->name, 1);
    assert_int_equal(calls_find(&calls, 5, 250)->name, 2);
    assert_int_equal(calls_find(&calls, 5, 999)->name, 3);
    assert_int_equal(calls_find(&calls, 5, 50)->name, 1); /* before all: some call is better than none */
    calls_release(&calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_outer_of_nested_calls_is_found),
        cmocka_unit_test(a_correlation_that_no_call_has_is_not_found),
        cmocka_unit_test(of_several_processes_the_last_to_start_before_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
