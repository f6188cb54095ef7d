#include "tests/unit.h"

#include "trace/json/events.h"

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

static struct json_text text(const char *value)
{
    return (struct json_text){value, strlen(value)};
}

UNIT_TEST(test_microseconds_become_ns)
{
    assert_true(json_ns(text("0")) == 0);
    assert_true(json_ns(text("1")) == 1000);
    assert_true(json_ns(text("1.5")) == 1500);
    assert_true(json_ns(text("4348656277704.199")) == UINT64_C(4348656277704199)); /* a double has not these digits */
    assert_true(json_ns(text("0.0004999")) == 0);
    assert_true(json_ns(text("0.0005")) == 1);
    assert_true(json_ns(text("1e3")) == 1000000);
    assert_true(json_ns(text("-5")) == -5000);
    assert_true(json_ns(text("1790000000000000.123")) == UINT64_C(1790000000000000123));
    assert_true(json_ns(text("\"1\"")) == 1000);
    assert_true(json_ns(text("\"1742490378358140.950\"")) == UINT64_C(1742490378358140950));
    assert_true(json_ns(text("\"x\"")) == 0);
}

UNIT_TEST(test_members_are_found_where_they_are)
{
    struct json_text value;
    struct json_event event = json_event_read(text("{ \"args\" : {\"a\":\"}\\\"\",\"b\": [1,{\"c\":2}] ,\"d\":-1.5} , "
                                                   "\"ph\":\"X\",\"name\":\"n\\u00e9\\n\",\"cat\":\"c\","
                                                   "\"pid\":1,\"tid\":\"word\",\"ts\":2.5,\"dur\":1}"));
    assert_int_equal(event.phase, 'X');
    assert_int_equal(event.time, 2500);
    assert_int_equal(event.duration, 1000);
    assert_int_equal(event.name.length, 9);
    assert_true(json_is_string(event.tid));
    assert_true(json_event_arg(&event, "b", &value));
    assert_int_equal(value.length, strlen("[1,{\"c\":2}]"));
    assert_true(json_event_arg(&event, "d", &value));
    assert_memory_equal(value.at, "-1.5", 4);
    assert_false(json_event_arg(&event, "c", &value));
    char *name = json_unescaped((struct json_text){event.name.at - 1, event.name.length + 2});
    assert_string_equal(name, "né\n");
    free(name);
}

UNIT_TEST(test_what_is_no_event_has_no_phase)
{
    static const char *const others[] = {"",        "{",        "{}",          "[]",
                                         "1",       "null",     "{\"ph\":1}",  "{\"ph\":\"XX\"}",
                                         "{\"ph\"", "{\"ph\":", "{\"ph\":\"X", "{1:2}"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_int_equal(json_event_read(text(others[i])).phase, 0);
}

UNIT_MAIN(NULL, NULL)
