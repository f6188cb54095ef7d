#include "tests/unit.h"

#include "trace/json/replay_index.h"

static struct flow_ids ids;

UNIT_FIXTURE(tear_down)
{
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

UNIT_TEST_WITH(test_one_work_has_the_call_s_bind_id, NULL, tear_down)
{
    note(63, 1);
    note(64, 1);
    note(UINT32_MAX, 1);
    flow_ids_number(&ids);
    assert_int_equal(flow_ids_count(&ids, 64), 1);
    assert_int_equal(flow_ids_tail(&ids, 64, 0), 64);
    assert_int_equal(flow_ids_head(&ids, 64), 64);
    assert_int_equal(flow_ids_head(&ids, UINT32_MAX), UINT32_MAX);
}

UNIT_TEST_WITH(test_further_works_have_ids_beyond_all, NULL, tear_down)
{
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

UNIT_TEST_WITH(test_when_no_ids_are_left_the_first_work_keeps_its_flow, NULL, tear_down)
{
    note(UINT32_MAX - 1, 3);
    flow_ids_number(&ids);
    assert_int_equal(flow_ids_count(&ids, UINT32_MAX - 1), 1);
    assert_int_equal(flow_ids_head(&ids, UINT32_MAX - 1), UINT32_MAX - 1);
    assert_int_equal(flow_ids_head(&ids, UINT32_MAX - 1), 0);
    assert_int_equal(flow_ids_head(&ids, UINT32_MAX - 1), 0);
}

UNIT_MAIN(NULL, NULL)
