#include "tests/unit.h"

#include "common/map.h"
#include "trace/json/parse.h"
#include "trace/json/text.h"

static struct interner strings;
static struct parser parser;

static enum parse_result parse(const char *text, struct event_fields *event)
{
    size_t size = strlen(text);
    char *copy = calloc(1, size + FAST_PATH_PADDING); /* and no more: what reads beyond is found */
    assert_non_null(copy);
    memcpy(copy, text, size);
    parser_release(&parser);
    interner_release(&strings);
    parser_init(&parser, &strings);
    enum parse_result result = parser_event(&parser, copy, &size, event);
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
    assert_int_equal(event_gpu(&event)->stream, 7);
    assert_int_equal(event.correlation, 423);
    assert_int_equal(event_kernel(&event)->grid[1], 64);
    assert_int_equal(event_kernel(&event)->block[0], 128);
    assert_int_equal(event.bytes, FIELD_ABSENT);
    assert_int_equal(event_kernel(&event)->mangled_name, EVENT_NO_TEXT);
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

UNIT_TEST(numbers_may_stand_in_texts)
{
    struct event_fields event;
    assert_int_equal(
        parse("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":\"1742490378358140.950\",\"dur\":\" 2.5e1 \","
              "\"pid\":\"3\",\"tid\":\"22\",\"args\":{\"stream\":\"7\",\"device\":\"2.0\","
              "\"correlation\":\"0x10\",\"context\":\"main\",\"grid\":[\"4\",\"x\",\"1\"]}}",
              &event),
        PARSE_DONE);
    assert_int_equal(event.start, 1742490378358140950);
    assert_int_equal(event.duration, 25000);
    assert_true(event.process == event_id_number(3));
    assert_true(event.thread == event_id_number(22));
    assert_int_equal(event_gpu(&event)->stream, 7);
    assert_int_equal(event.device, 2);
    assert_int_equal(event.correlation, 16);
    assert_int_equal(event_gpu(&event)->context, FIELD_ABSENT);
    assert_int_equal(event_kernel(&event)->grid[0], 4);
    assert_int_equal(event_kernel(&event)->grid[1], FIELD_ABSENT);
}

UNIT_TEST(a_slice_without_a_duration_is_open_unless_it_is_of_a_gpu)
{
    struct event_fields event;
    assert_int_equal(parse("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1}", &event), PARSE_DONE);
    assert_int_equal(event.phase, PHASE_OPEN);
    assert_int_equal(event.start, 1000);
}

UNIT_TEST(an_empty_object_is_nothing)
{
    struct event_fields event;
    assert_int_equal(parse("{ }", &event), PARSE_NOTHING);
}

UNIT_TEST(what_is_no_event_is_reported)
{
    static const struct {
        const char *text, *expected;
    } wrong[] = {
        {"[]", "an object"},
        {"17 ", "an object"},
        {"{\"a\":1}", "there is no \"ph\": expected one letter"},
        {"{\"ph\": 7}", "\"ph\""},
        {"{\"ph\": \"XX\"}", "\"ph\""},
        {"{\"ph\":\"X\",\"name\":\"a\",\"dur\":1}", "\"ts\""},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":\"1s\",\"dur\":1}",
         "\"ts\" is \"1s\": expected a number of microseconds"},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":\"inf\",\"dur\":1}", "\"ts\" is \"inf\""},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":\"0x10\",\"dur\":1}", "\"ts\" is \"0x10\""},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":\"\",\"dur\":1}", "\"ts\" is \"\""},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":NaN}", "\"dur\" is NaN: expected a number of microseconds"},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":null}", "\"dur\" is null"},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"id\":{\"local\":\"0x1\"}}",
         "\"id\" is {\"local\":\"0x1\"}: expected a number or a text"},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"pid\":[7]}", "\"pid\" is [7]"},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"tid\":true}", "\"tid\" is true"},
        {"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":0,\"dur\":0}", "\"ts\" is 0: expected times"},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1e999,\"dur\":1}", "\"ts\""},
        {"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1}", "there is no \"dur\""},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":-1}", "not negative"},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":9223372036854775.807,\"dur\":1}", "\"ts\""},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":4611686018427387.000,\"dur\":1}", "in this age"},
        {"{\"ph\":\"X\",\"name\":null,\"ts\":1,\"dur\":1}", "\"name\""},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct event_fields event;
        assert_int_equal(parse(wrong[i].text, &event), PARSE_NOT_AN_EVENT);
        assert_contains(parser.message, wrong[i].expected);
    }
}

UNIT_TEST(what_is_not_json_is_reported_with_its_place)
{
    struct event_fields event;
    assert_int_equal(parse("{\"ph\": oops}                  ", &event), PARSE_NOT_JSON);
    assert_int_equal(parser.error_at, 7);
    assert_int_equal(parse("{\"ph\": oops}", &event), PARSE_CUT);
    assert_int_equal(parse("{\"ph\" \"X\"}                  ", &event), PARSE_NOT_JSON);
}

UNIT_TEST(arguments_of_wrong_types_are_passed_over)
{
    struct event_fields event;
    assert_int_equal(parse("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"stream\":[],"
                           "\"grid\":7,\"block\":[1,\"x\",null,4],\"device\":{}}}",
                           &event),
                     PARSE_DONE);
    assert_int_equal(event_gpu(&event)->stream, FIELD_ABSENT);
    assert_int_equal(event_kernel(&event)->grid[0], FIELD_ABSENT);
    assert_int_equal(event_kernel(&event)->block[0], 1);
    assert_int_equal(
        parse("{\"ph\":\"i\",\"cat\":\"memory\",\"name\":\"a\",\"ts\":1,\"args\":{\"bytes\":1e999,\"fault\":{},"
              "\"kind\":3}}",
              &event),
        PARSE_DONE);
    assert_int_equal(event.bytes, FIELD_ABSENT);
    assert_int_equal(event_memory(&event)->fault, EVENT_NO_TEXT);
    assert_string_equal(interned(&strings, event_memory(&event)->kind), "3");
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

UNIT_TEST(an_argument_is_kept_of_the_categories_that_have_it_alone)
{
    for (size_t key = 1; key < ARG_KEY_COUNT; key++)
        for (unsigned category = 0; category < CATEGORY_COUNT; category++) {
            static const char *const values[] = {"512", "\"512\"", "[5,1,2]", "[[5],[1]]"};
            const struct arg_field *field = &arg_fields[key];
            if (field->type == FIELD_NONE || category_in(category, field->categories))
                continue;
            for (size_t value = 0; value < sizeof(values) / sizeof(*values); value++) {
                struct event_fields with, without;
                char text[512], bare[512];
                snprintf(bare, sizeof(bare), "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"a\",\"ts\":1,\"dur\":1}",
                         category_words[category].text);
                snprintf(text, sizeof(text), "%.*s,\"args\":{\"%s\":%s}}", (int)strlen(bare) - 1, bare,
                         arg_words[key].text, values[value]);
                assert_int_equal(parse(bare, &without), PARSE_DONE);
                assert_int_equal(parse(text, &with), PARSE_DONE);
                assert_memory_equal(&with, &without, event_size(&with));
            }
        }
}

UNIT_TEST(each_argument_is_kept_of_each_category_that_has_it)
{
    for (size_t key = 1; key < ARG_KEY_COUNT; key++)
        for (unsigned category = 0; category < CATEGORY_COUNT; category++) {
            const struct arg_field *field = arg_field_find(arg_words[key].text, arg_words[key].length, category);
            bool has = arg_fields[key].type != FIELD_NONE && category_in(category, arg_fields[key].categories);
            assert_int_equal(field != NULL, has);
        }
}

UNIT_TEST(categories_of_other_profilers_are_ours)
{
    static const struct {
        const char *text;
        enum category category;
    } words[] = {{"Kernel", CATEGORY_KERNEL},          {"Memcpy", CATEGORY_GPU_MEMCPY},
                 {"Memset", CATEGORY_GPU_MEMSET},      {"Runtime", CATEGORY_CUDA_RUNTIME},
                 {"Operator", CATEGORY_CPU_OP},        {"xpu_runtime", CATEGORY_CUDA_RUNTIME},
                 {"xpu_driver", CATEGORY_CUDA_DRIVER}, {"mtia_runtime", CATEGORY_CUDA_RUNTIME},
                 {"mtia_ccp_events", CATEGORY_KERNEL}, {"privateuse1_runtime", CATEGORY_CUDA_RUNTIME},
                 {"xpu_sync", CATEGORY_CUDA_SYNC},     {"privateuse1_driver", CATEGORY_CUDA_DRIVER},
                 {"kernels", CATEGORY_OTHER}};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        assert_int_equal(category_find(words[i].text, strlen(words[i].text)), words[i].category);
    assert_int_equal(category_by_name(CATEGORY_CPU_OP, 'X', "ProfilerStep#12", 15), CATEGORY_USER_ANNOTATION);
    assert_int_equal(category_by_name(CATEGORY_CPU_OP, 'X', "aten::mm", 8), CATEGORY_CPU_OP);
    assert_int_equal(category_by_name(CATEGORY_OTHER, 'i', "[memory]", 8), CATEGORY_CPU_INSTANT_EVENT);
    assert_int_equal(category_by_name(CATEGORY_OTHER, 'X', "[memory]", 8), CATEGORY_OTHER);
}

UNIT_TEST(a_row_that_is_a_text_of_digits_is_the_number)
{
    struct event_fields event;
    assert_int_equal(parse("{\"ph\":\"i\",\"name\":\"a\",\"ts\":1,\"pid\":\"12\",\"tid\":\"stream 7\"}", &event),
                     PARSE_DONE);
    assert_int_equal(event.process, event_id_number(12));
    assert_true(event_id_is_text(event.thread));
}

UNIT_MAIN(NULL, release)
