#include "tests/unit.h"

#include <math.h>

#include "common/buffer.h"
#include "trace/sink.h"

static struct buffer buffer;
static struct sink sink;

UNIT_FIXTURE(set_up)
{
    buffer_init_memory(&buffer);
    sink_init(&sink, &chrome_json, &buffer);
    return 0;
}

UNIT_FIXTURE(tear_down)
{
    buffer_release(&buffer);
    return 0;
}

static const char *finished(void)
{
    sink.format->finish(&sink);
    buffer_char(&buffer, '\0');
    return buffer.data;
}

UNIT_TEST_WITH(test_no_events_are_a_whole_file, set_up, tear_down)
{
    sink.format->metadata(&sink, "one", "1", 1);
    sink.format->metadata(&sink, "two", "[2]", 3);
    sink.format->begin(&sink, 0);
    assert_string_equal(finished(), "{\n\"one\":1,\n\"two\":[2],\n\"traceEvents\":[\n]}\n");
}

UNIT_TEST_WITH(test_a_slice_is_one_line, set_up, tear_down)
{
    static const int32_t grid[] = {1, -2, 3};
    struct args args = {0};
    args_i64(&args, ARG_STREAM, -1);
    args_real(&args, ARG_BLOCKS_PER_SM, ARG_TYPE_FIXED, 1.9393939);
    args_size3(&args, ARG_GRID, grid);
    args_add(&args, ARG_ADDRESS, ARG_TYPE_HEX)->u64 = 0x7f00;
    args_add(&args, ARG_COLOR, ARG_TYPE_COLOR)->u64 = 0x80ff0001;
    args_add(&args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    args_text(&args, ARG_DOMAIN, "a\"b", 3);
    args_u64(&args, ARG_BYTES, UINT64_MAX);
    struct slice slice = {.category = CATEGORY_KERNEL,
                          .name = name_passing("k\n", 2),
                          .row = {0, 7},
                          .start = 1000001234,
                          .end = 1000001240,
                          .args = &args};
    sink.format->begin(&sink, 1000000000);
    sink.format->slice(&sink, &slice);
    assert_string_equal(finished(),
                        "{\n\"traceEvents\":[\n"
                        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\\n\",\"pid\":0,\"tid\":7,"
                        "\"ts\":1.234,\"dur\":0.006,\"args\":{\"stream\":-1,\"blocks per SM\":1.939394,"
                        "\"grid\":[1,-2,3],\"address\":\"0x7f00\",\"color\":\"#80ff0001\","
                        "\"open at end\":true,\"domain\":\"a\\\"b\",\"bytes\":18446744073709551615}}\n]}\n");
    assert_int_equal(sink.events, 1);
}

UNIT_TEST_WITH(test_numbers_that_json_lacks_are_texts, set_up, tear_down)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0.1};
    sink.format->begin(&sink, 0);
    for (size_t i = 0; i < 4; i++) {
        struct args args = {0};
        args_real(&args, ARG_PAYLOAD, ARG_TYPE_REAL, values[i]);
        struct slice slice = {.name = name_passing("", 0), .args = &args};
        sink.format->instant(&sink, &slice);
    }
    const char *text = finished();
    assert_contains(text, "\"payload\":\"NaN\"");
    assert_contains(text, "\"payload\":\"Infinity\"");
    assert_contains(text, "\"payload\":\"-Infinity\"");
    assert_contains(text, "\"payload\":0.1}");
    assert_contains(text, "\"ph\":\"i\"");
    assert_contains(text, "\"s\":\"t\"");
}

UNIT_TEST_WITH(test_flows_have_both_forms, set_up, tear_down)
{
    struct flow flow = {.id = UINT32_MAX, .row = {1, 2}, .time = 5000};
    sink.format->begin(&sink, 0);
    sink.format->flow(&sink, &flow);
    flow.ends = true;
    sink.format->flow(&sink, &flow);
    assert_string_equal(
        finished(),
        "{\n\"traceEvents\":[\n"
        "{\"ph\":\"s\",\"id\":4294967295,\"pid\":1,\"tid\":2,\"ts\":5.000,\"cat\":\"ac2g\",\"name\":\"ac2g\"},\n"
        "{\"ph\":\"f\",\"id\":4294967295,\"pid\":1,\"tid\":2,\"ts\":5.000,\"cat\":\"ac2g\",\"name\":\"ac2g\","
        "\"bp\":\"e\"}\n]}\n");
    assert_int_equal(sink.events, 0);
}

UNIT_TEST_WITH(test_counters_ranges_and_rows, set_up, tear_down)
{
    struct counter counter = {.name = name_passing("Memory in use: Device", 21), .pid = 0, .time = 7, .bytes = 12};
    struct async_slice slice = {.category = CATEGORY_USER_ANNOTATION,
                                .name = name_passing("r", 1),
                                .begin = {1, 2},
                                .end_row = {1, 3},
                                .start = 1,
                                .end = 2,
                                .id = 9};
    struct row_name row = {.row = {1, 2}, .name = "t\"", .label = "CPU", .sort_index = 4};
    sink.format->begin(&sink, 0);
    struct counter real = {.name = name_passing("p: \"load\"", 9), .pid = 3, .time = 8, .real = true, .value = -0.25};
    sink.format->counter(&sink, &counter);
    sink.format->counter(&sink, &real);
    const struct counter_value values[] = {{.name = "a\"", .length = 2, .kind = COUNTER_UNSIGNED, .u64 = UINT64_MAX},
                                           {.name = "b", .length = 1, .kind = COUNTER_SIGNED, .i64 = -1},
                                           {.name = "c", .length = 1, .kind = COUNTER_REAL, .real = 0.5}};
    struct counter several = {
        .name = name_passing("group", 5), .pid = 4, .time = 9, .values = values, .value_count = 3};
    sink.format->counter(&sink, &several);
    sink.format->async(&sink, &slice);
    sink.format->process(&sink, &row);
    sink.format->thread(&sink, &row);
    const char *text = finished();
    assert_contains(
        text, "{\"ph\":\"C\",\"name\":\"Memory in use: Device\",\"pid\":0,\"ts\":0.007,\"args\":{\"bytes\":12}},\n");
    assert_contains(text,
                    "{\"ph\":\"C\",\"name\":\"p: \\\"load\\\"\",\"pid\":3,\"ts\":0.008,\"args\":{\"value\":-0.25}},\n");
    assert_contains(text, "{\"ph\":\"C\",\"name\":\"group\",\"pid\":4,\"ts\":0.009,"
                          "\"args\":{\"a\\\"\":18446744073709551615,\"b\":-1,\"c\":0.5}},\n");
    assert_contains(
        text, "{\"ph\":\"b\",\"cat\":\"user_annotation\",\"name\":\"r\",\"id\":9,\"pid\":1,\"tid\":2,\"ts\":0.001},\n");
    assert_contains(
        text, "{\"ph\":\"e\",\"cat\":\"user_annotation\",\"name\":\"r\",\"id\":9,\"pid\":1,\"tid\":3,\"ts\":0.002},\n");
    assert_contains(text,
                    "\"name\":\"process_name\",\"pid\":1,\"tid\":2,\"ts\":0.000,\"args\":{\"name\":\"t\\\"\"}},\n");
    assert_contains(text, "\"args\":{\"labels\":\"CPU\"}}");
    assert_contains(text,
                    "\"name\":\"thread_sort_index\",\"pid\":1,\"tid\":2,\"ts\":0.000,\"args\":{\"sort_index\":4}}");
    assert_int_equal(sink.events, 4);
}

UNIT_TEST_WITH(test_true_and_false, set_up, tear_down)
{
    struct args args = {0};
    args_add(&args, ARG_CACHE_HIT, ARG_TYPE_FALSE);
    args_add(&args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    struct slice slice = {.category = CATEGORY_COMPILATION, .name = name_passing("JIT compile", 11), .args = &args};
    sink.format->begin(&sink, 0);
    sink.format->slice(&sink, &slice);
    assert_contains(finished(), "\"cat\":\"compilation\",\"name\":\"JIT compile\"");
    assert_contains(finished(), "\"args\":{\"cache hit\":false,\"open at end\":true}}");
}

UNIT_TEST_WITH(test_long_names_and_texts_fit, set_up, tear_down)
{
    static char text[300000];
    memset(text, '\x01', sizeof(text)); /* each becomes six characters */
    struct args args = {0};
    for (int i = 0; i < ARGS_MAX; i++)
        args_text(&args, ARG_DOMAIN, text, 1000);
    struct slice slice = {.name = name_passing(text, sizeof(text)), .args = &args};
    sink.format->begin(&sink, 0);
    sink.format->slice(&sink, &slice);
    assert_true(strlen(finished()) > 6 * (sizeof(text) + 1000 * ARGS_MAX));
}

UNIT_MAIN(NULL, NULL)
