#include "tests/unit.h"

#include "common/map.h"
#include "trace/json/parse.h"
#include "trace/json/text.h"

static struct interner strings;
static struct parser parser;

static enum parse_result parse(const char *text, struct event_fields *event)
{
    struct scan scan;
    char *copy = strdup(text); /* without the NUL in reach: what reads beyond is found */
    assert_non_null(copy);
    assert_true(scan_value(text, strlen(text) + 1, &scan));
    parser_release(&parser);
    interner_release(&strings);
    parser_init(&parser, &strings);
    enum parse_result result = parser_event(&parser, copy, &scan, event);
    free(copy);
    return result;
}

UNIT_FIXTURE(release)
{
    parser_release(&parser);
    interner_release(&strings);
    return 0;
}

UNIT_TEST(a_kernel_is_read)
{
    struct event_fields event;
    assert_int_equal(
        parse("{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 10.5,"
              "\"dur\": 2.001, \"args\": {\"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": 423,"
              "\"grid\": [4, 64, 1], \"block\": [128, 1, 1], \"queued\": 0}}",
              &event),
        PARSE_DONE);
    assert_int_equal(event.phase, 'X');
    assert_int_equal(event.category, CATEGORY_KERNEL);
    assert_string_equal(interned(&strings, event.name), "k");
    assert_int_equal(event.start, 10500);
    assert_int_equal(event.duration, 2001);
    assert_int_equal(event.stream, 7);
    assert_int_equal(event.correlation, 423);
    assert_int_equal(event.grid[1], 64);
    assert_int_equal(event.block[0], 128);
    assert_int_equal(event.bytes, EVENT_NONE);
    assert_int_equal(event.mangled_name, EVENT_NO_TEXT);
}

UNIT_TEST(rows_may_be_numbers_or_texts)
{
    struct event_fields event;
    assert_int_equal(parse("{\"ph\":\"i\",\"name\":\"n\",\"pid\":\"Spans\",\"tid\":-3,\"ts\":0}", &event), PARSE_DONE);
    assert_true(event_id_is_text(event.process));
    assert_string_equal(interned(&strings, (uint32_t)(event.process >> 1)), "Spans");
    assert_int_equal(event_id_value(event.thread), -3);
}

UNIT_TEST(of_two_keys_of_a_name_the_last_counts)
{
    struct event_fields event;
    assert_int_equal(parse("{\"ph\":\"X\",\"name\":\"a\",\"name\":\"b\",\"ts\":1,\"ts\":2,\"dur\":3}", &event),
                     PARSE_DONE);
    assert_string_equal(interned(&strings, event.name), "b");
    assert_int_equal(event.start, 2000);
}

UNIT_TEST(times_with_exponents_are_read)
{
    struct event_fields event;
    assert_int_equal(parse("{\"ph\":\"X\",\"name\":\"a\",\"ts\":1.5e3,\"dur\":2E-3}", &event), PARSE_DONE);
    assert_int_equal(event.start, 1500000);
    assert_int_equal(event.duration, 2);
}

UNIT_TEST(what_is_no_event_is_reported)
{
    static const struct {
        const char *text, *expected;
    } wrong[] = {
        {"[]", "an object"},
        {"17 ", "an object"},
        {"{}", "\"ph\""},
        {"{\"ph\": 7}", "\"ph\""},
        {"{\"ph\": \"XX\"}", "\"ph\""},
        {"{\"ph\":\"X\",\"name\":\"a\",\"dur\":1}", "\"ts\""},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":\"1\",\"dur\":1}", "\"ts\""},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1e999,\"dur\":1}", "\"ts\""},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1}", "\"dur\""},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":-1}", "not negative"},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":9223372036854775.807,\"dur\":1}", "\"ts\""},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":4611686018427387.000,\"dur\":1}", "in this age"},
        {"{\"ph\":\"X\",\"name\":null,\"ts\":1,\"dur\":1}", "\"name\""},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct event_fields event;
        assert_int_equal(parse(wrong[i].text, &event), PARSE_NOT_AN_EVENT);
        assert_contains(parser.expected, wrong[i].expected);
    }
}

UNIT_TEST(what_is_not_json_is_reported_with_its_place)
{
    struct event_fields event;
    assert_int_equal(parse("{\"ph\": oops}", &event), PARSE_NOT_JSON);
    assert_int_equal(parser.error_at, 7);
    assert_int_equal(parse("{\"ph\" \"X\"}", &event), PARSE_NOT_JSON);
}

UNIT_TEST(arguments_of_wrong_types_are_passed_over)
{
    struct event_fields event;
    assert_int_equal(parse("{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"stream\":[],\"grid\":7,"
                           "\"block\":[1,\"x\",null,4],\"device\":{},\"bytes\":1e999,\"domain\":{},\"kind\":3}}",
                           &event),
                     PARSE_DONE);
    assert_int_equal(event.stream, EVENT_NONE);
    assert_int_equal(event.grid[0], EVENT_NONE);
    assert_int_equal(event.block[0], 1);
    assert_int_equal(event.bytes, EVENT_NONE);
    assert_int_equal(event.domain, EVENT_NO_TEXT);
    assert_string_equal(interned(&strings, event.memory_kind), "3");
    assert_int_equal(parse("{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":[1]}", &event), PARSE_DONE);
}

UNIT_TEST(a_range_that_the_program_put_into_a_stream_is_reported_by_its_argument)
{
    static const struct {
        const char *args;
        enum category category;
    } cases[] = {
        {"{\"from\": \"gputrace_device_range\", \"range\": 3}", CATEGORY_DEVICE_RANGE},
        {"{\"from\": \"elsewhere\"}", CATEGORY_GPU_USER_ANNOTATION},
        {"{\"from\": 3}", CATEGORY_GPU_USER_ANNOTATION},
        {"[\"from\"]", CATEGORY_GPU_USER_ANNOTATION},
        {"{}", CATEGORY_GPU_USER_ANNOTATION},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[256];
        struct event_fields event;
        snprintf(
            text, sizeof(text),
            "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"n\", \"ts\": 1, \"dur\": 1, \"args\": %s}",
            cases[i].args);
        assert_int_equal(parse(text, &event), PARSE_DONE);
        assert_int_equal(event.category, cases[i].category);
    }
}

UNIT_MAIN(NULL, release)
