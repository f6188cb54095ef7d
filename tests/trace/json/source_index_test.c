#include "tests/unit.h"

#include "trace/json/source_index.h"

static struct flow_ids ids;

static int tear_down(void **state)
{
    (void)state;
    flow_ids_release(&ids);
    ids = (struct flow_ids){0};
    return 0;
}

static void note(uint32_t bind_id, unsigned works)
{
    assert_int_equal(flow_ids_note(&ids, bind_id, false), 0);
    for (unsigned i = 0; i < works; i++)
        assert_int_equal(flow_ids_note(&ids, bind_id, true), 0);
}

static void test_one_work_has_the_call_s_bind_id(void **state)
{
    (void)state;
    note(63, 1);
    note(64, 1);
    note(UINT32_MAX, 1);
    flow_ids_number(&ids);
    assert_int_equal(flow_ids_count(&ids, 64), 1);
    assert_int_equal(flow_ids_tail(&ids, 64, 0), 64);
    assert_int_equal(flow_ids_head(&ids, 64), 64);
    assert_int_equal(flow_ids_head(&ids, UINT32_MAX), UINT32_MAX);
}

static void test_further_works_have_ids_beyond_all(void **state)
{
    (void)state;
    note(7, 3);
    note(100, 0); /* a call whose works are not there takes its id too */
    note(8, 2);
    flow_ids_number(&ids);
    assert_int_equal(flow_ids_count(&ids, 7), 3);
    assert_int_equal(flow_ids_count(&ids, 8), 2);
    assert_int_equal(flow_ids_count(&ids, 100), 1);
    for (uint32_t i = 0; i < 3; i++) {
        static const uint32_t expected[] = {7, 101, 102};
        assert_int_equal(flow_ids_tail(&ids, 7, i), expected[i]);
        assert_int_equal(flow_ids_head(&ids, 7), expected[i]);
    }
    assert_int_equal(flow_ids_tail(&ids, 8, 1), 103);
    assert_int_equal(flow_ids_head(&ids, 8), 8);
    assert_int_equal(flow_ids_head(&ids, 8), 103);
}

static void test_when_no_ids_are_left_the_first_work_keeps_its_flow(void **state)
{
    (void)state;
    note(UINT32_MAX - 1, 3);
    flow_ids_number(&ids);
    assert_int_equal(flow_ids_count(&ids, UINT32_MAX - 1), 1);
    assert_int_equal(flow_ids_head(&ids, UINT32_MAX - 1), UINT32_MAX - 1);
    assert_int_equal(flow_ids_head(&ids, UINT32_MAX - 1), 0);
    assert_int_equal(flow_ids_head(&ids, UINT32_MAX - 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_one_work_has_the_call_s_bind_id, tear_down),
        cmocka_unit_test_teardown(test_further_works_have_ids_beyond_all, tear_down),
        cmocka_unit_test_teardown(test_when_no_ids_are_left_the_first_work_keeps_its_flow, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
