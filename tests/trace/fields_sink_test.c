#include "tests/unit.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/buffer.h"
#include "common/map.h"
#include "trace/fields_receiver.h"
#include "trace/json/parse.h"
#include "trace/sink.h"

static struct interner strings;

static int take_event(void *context, struct event_fields *event)
{
    event_copy(context, event);
    return 0;
}

/* Writes an event into SINK, a piece of it. */
static void write_piece(struct sink *sink, const struct slice *slice, const struct counter *counter)
{
    struct sink piece;
    sink_piece(&piece, sink, sink->buffer);
    if (slice)
        piece.format->slice(&piece, slice);
    else
        piece.format->counter(&piece, counter);
    sink_release(&piece);
    assert_int_equal(buffer_finish(sink->buffer), 0);
}

/* What the sink makes of an event is what a reader of its JSON finds. */
static void compare(const struct slice *slice, const struct counter *counter)
{
    struct event_fields ours, read;
    const struct fields_receiver receiver = {.context = &ours, .event = take_event};
    struct sink *sink = fields_sink_new(&strings, &receiver), json = {.format = &chrome_json};
    struct parser parser;
    struct buffer text;
    assert_non_null(sink);
    write_piece(sink, slice, counter);
    buffer_init_memory(&text);
    json.buffer = &text;
    if (slice)
        chrome_json.slice(&json, slice);
    else
        chrome_json.counter(&json, counter);
    buffer_bytes(&text, (char[FAST_PATH_PADDING]){0}, FAST_PATH_PADDING);
    parser_init(&parser, &strings);
    const char *at = strchr(text.data, '{');
    size_t size = strlen(at);
    assert_int_equal(parser_event(&parser, at, &size, &read), PARSE_DONE);
    assert_memory_equal(&ours, &read, event_size(&read));
    parser_release(&parser);
    buffer_release(&text);
    fields_sink_free(sink);
}

static void compare_arg(enum category category, struct arg arg)
{
    struct args args = {.count = 1, .items = {arg}};
    const struct slice slice = {
        .category = category, .name = name_plain("a"), .row = {1, 2}, .start = 5000, .end = 7000, .args = &args};
    compare(&slice, NULL);
}

UNIT_FIXTURE(end)
{
    interner_release(&strings);
    return 0;
}

#define TEXT(type_, text_) {.type = type_, .text = text_, .length = sizeof(text_) - 1}

UNIT_TEST_WITH(a_field_is_what_a_reader_of_the_arguments_json_finds, NULL, end)
{
    static const struct arg values[] = {
        {.type = ARG_TYPE_U64, .u64 = 7},
        {.type = ARG_TYPE_U64, .u64 = UINT64_MAX},
        {.type = ARG_TYPE_I64, .i64 = -7},
        {.type = ARG_TYPE_FIXED, .real = 2.25},
        {.type = ARG_TYPE_REAL, .real = 0.1},
        {.type = ARG_TYPE_REAL, .real = -1e300},
        {.type = ARG_TYPE_REAL, .real = INFINITY},
        {.type = ARG_TYPE_HEX, .u64 = 0x7f00},
        {.type = ARG_TYPE_COLOR, .u64 = 0xff00ff00},
        TEXT(ARG_TYPE_TEXT, "512"),
        TEXT(ARG_TYPE_TEXT, "a \"word\""),
        {.type = ARG_TYPE_TRUE},
        {.type = ARG_TYPE_FALSE},
        {.type = ARG_TYPE_SIZE3, .size3 = {1, 2, 3}},
        TEXT(ARG_TYPE_RAW, "17"),
        TEXT(ARG_TYPE_RAW, "\"x\\u00e9\\n\""),
        TEXT(ARG_TYPE_RAW, "[4,5,6]"),
        TEXT(ARG_TYPE_RAW, "[[8,128],[]]"),
        TEXT(ARG_TYPE_RAW, "{\"a\":1}"),
        TEXT(ARG_TYPE_RAW, "null"),
        TEXT(ARG_TYPE_MEMBERS, "\"device\":3,\"grid\":[1,2,3],\"domain\":\"d\""),
    };
    for (enum arg_key key = 1; key < ARG_KEY_COUNT; key++)
        for (enum category category = 0; category < CATEGORY_COUNT; category++)
            for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
                struct arg arg = values[i];
                bool kept = arg_fields[key].type != FIELD_NONE && category_in(category, arg_fields[key].categories);
                arg.key = arg.type == ARG_TYPE_MEMBERS ? ARG_OTHER : key;
                if (kept && category != CATEGORY_DEVICE_RANGE && category != CATEGORY_OTHER)
                    compare_arg(category, arg);
            }
}

UNIT_TEST_WITH(values_of_a_counter_are_arguments, NULL, end)
{
    static const struct counter_value values[] = {
        {.name = "used", .length = 4, .kind = COUNTER_UNSIGNED, .u64 = 5},
        {.name = "bytes", .length = 5, .kind = COUNTER_SIGNED, .i64 = -9},
        {.name = "name", .length = 4, .kind = COUNTER_REAL, .real = 0.5},
    };
    for (size_t count = 1; count <= sizeof(values) / sizeof(*values); count++) {
        const struct counter counter = {
            .name = name_plain("c"), .pid = 1, .time = 5000, .values = values, .value_count = count};
        compare(NULL, &counter);
    }
}

UNIT_MAIN(NULL, NULL)
