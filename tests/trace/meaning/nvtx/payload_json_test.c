/*
 * Payloads of NVTX events in the trace, by schemas that are right, and by such as are not.
 */
#include "tests/unit.h"

#include "tests/trace/meaning/make_nvtx_extension.h"
#include "tests/trace/meaning/trace_reading.h"

/* Entries leave out what is 0. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

enum { PID = 500, THREAD = 501, NUMBER = 9 };

static void mark(struct make_spool *spool, uint64_t number)
{
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK,
                                        .time = 1000,
                                        .payload = number,
                                        .payload_type = SPOOL_NVTX_PAYLOAD_PIECES,
                                        .text = "mark"});
}

static const cJSON *payload_of(const struct trace *trace)
{
    return event_arg(trace_event(trace, "i", "user_annotation", "mark", 0), "payload");
}

/* The payload as it is written in the file. */
static void payload_is(const struct trace *trace, const char *wanted)
{
    char *text = cJSON_PrintUnformatted(payload_of(trace));
    assert_string_equal(text ? text : "none", wanted);
    cJSON_free(text);
}

/* One payload of one schema. */
static void shows(const struct make_entry *entries, size_t count, enum payload_schema_kind kind, const void *bytes,
                  size_t size, const char *wanted)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_schema(&spool, 1, kind, 0, 0, "schema", entries, count);
    make_payload(&spool, NUMBER, 0, make_schema_id(1), 0x1000, bytes, size);
    mark(&spool, NUMBER);
    struct trace trace = trace_of_done(&spool);
    payload_is(&trace, wanted);
    trace_release(&trace);
}
#define SHOWS(kind, bytes, size, wanted, ...)                                              \
    do {                                                                                   \
        const struct make_entry shown[] = {__VA_ARGS__};                                   \
        shows(shown, sizeof(shown) / sizeof(*shown), PAYLOAD_##kind, bytes, size, wanted); \
    } while (0)

UNIT_TEST(test_numbers_of_every_type)
{
    static const uint8_t ones[16] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
#define ONES(name, wanted) SHOWS(STATIC, ones, 16, "{\"v\":" wanted "}", {"v", PAYLOAD_TYPE_##name})
    ONES(UCHAR, "255");
    ONES(SHORT, "-1");
    ONES(USHORT, "65535");
    ONES(INT, "-1");
    ONES(UINT, "4294967295");
    ONES(LONG, "-1");
    ONES(LONGLONG, "-1");
    ONES(INT8, "-1");
    ONES(UINT8, "255");
    ONES(INT16, "-1");
    ONES(UINT16, "65535");
    ONES(INT32, "-1");
    ONES(UINT32, "4294967295");
    ONES(INT64, "-1");
    ONES(FLOAT, "\"NaN\"");
    ONES(DOUBLE, "\"NaN\"");
    ONES(FLOAT16, "\"NaN\"");
    ONES(BF16, "\"NaN\"");
    ONES(FLOAT128, "\"NaN\"");
    ONES(ADDRESS, "\"0xffffffffffffffff\"");
    ONES(BYTE, "\"ff\"");
    ONES(INT128, "\"-1\"");
    ONES(UINT128, "\"340282366920938463463374607431768211455\"");
    ONES(COLOR_ARGB, "\"#ffffff\"");
    ONES(CATEGORY, "4294967295");
    ONES(TID_UINT32, "4294967295");
}

UNIT_TEST(test_fractions_of_every_width)
{
    static const uint16_t half[] = {0x3555, 0x0001, 0xfc00};
    static const uint16_t brain[] = {0x4049};
    static const uint64_t quadruple[] = {0, 0xc000800000000000}; /* -3 */
    long double extended = 0.75L;
    SHOWS(STATIC, half, 6, "{\"v\":[0.333251953125,5.9604644775390625e-08,\"-Infinity\"]}",
          {"v", PAYLOAD_TYPE_FLOAT16, PAYLOAD_FLAG_ARRAY_FIXED, 3});
    SHOWS(STATIC, brain, 2, "{\"v\":3.140625}", {"v", PAYLOAD_TYPE_BF16});
    SHOWS(STATIC, quadruple, 16, "{\"v\":-3}", {"v", PAYLOAD_TYPE_FLOAT128});
    SHOWS(STATIC, &extended, sizeof(extended), "{\"v\":0.75}", {"v", PAYLOAD_TYPE_LONGDOUBLE});
}

UNIT_TEST(test_texts_of_every_sort)
{
    static const uint32_t wide[] = {0x48, 0x1f600, 0x110000, 0};
    SHOWS(STATIC, "abc\0def", 7, "{\"v\":\"abc\"}", {"v", PAYLOAD_TYPE_CSTRING, 0, 7});
    SHOWS(STATIC, "abc", 3, "{\"v\":\"abc\"}", {"v", PAYLOAD_TYPE_CHAR, PAYLOAD_FLAG_ARRAY_FIXED, 3});
    SHOWS(STATIC, wide, sizeof(wide), "{\"v\":\"H\U0001f600\ufffd\"}", {"v", PAYLOAD_TYPE_CSTRING_UTF32, 0, 4});
    SHOWS(DYNAMIC, "ab\0cd\0\0\0\0*", 10, "{\"v\":[\"ab\",\"cd\"],\"w\":\"*\"}",
          {"v", PAYLOAD_TYPE_CSTRING, PAYLOAD_FLAG_ARRAY_TERMINATED, 3}, {"w", PAYLOAD_TYPE_CHAR, 0, 0, 9});
    SHOWS(STATIC, "x\"\xff\n", 4, "{\"v\":\"x\\\"\ufffd\\n\"}", {"v", PAYLOAD_TYPE_CSTRING_UTF8, 0, 4});
}

UNIT_TEST(test_entries_without_a_name_or_with_anothers)
{
    SHOWS(STATIC, "\1\2\3\4", 4, "{\"#0\":1,\"a\":2,\"#2\":3}", {NULL, PAYLOAD_TYPE_INT8}, {"a", PAYLOAD_TYPE_INT8},
          {"a", PAYLOAD_TYPE_INT8}, {"hidden", PAYLOAD_TYPE_INT8, PAYLOAD_FLAG_HIDE});
}

UNIT_TEST(test_what_is_cut_off_or_unknown_is_left_out)
{
    SHOWS(STATIC, "\1\2", 2, "{\"a\":1}", {"a", PAYLOAD_TYPE_INT8}, {"b", PAYLOAD_TYPE_INT32, 0, 0, 1});
    SHOWS(STATIC, "\1\2", 2, "{\"a\":1}", {"a", PAYLOAD_TYPE_INT8}, {"b", 99}, {"c", PAYLOAD_TYPE_INT8});
    SHOWS(STATIC, "\1\2", 2, "{\"a\":1,\"c\":2}", {"a", PAYLOAD_TYPE_INT8}, {"b", 99},
          {"c", PAYLOAD_TYPE_INT8, 0, 0, 1});
    SHOWS(STATIC, "\1", 1, "{\"a\":1}", {"a", PAYLOAD_TYPE_INT8}, {"b", PAYLOAD_TYPE_INT8, 0, 0, UINT64_MAX});
}

UNIT_TEST(test_enumerations_by_name_and_by_bits)
{
    struct make_spool spool;
    static const struct make_entry values[] = {{"minus", .detail = UINT64_MAX}, {"one", .detail = 1}};
    static const struct make_entry bits[] = {{"a", .detail = 1, .flags = 1}, {"b", .detail = 2, .flags = 1}};
    const struct make_entry entries[] = {{"x", make_schema_id(1)},
                                         {"y", make_schema_id(1)},
                                         {"z", make_schema_id(1)},
                                         {"v", make_schema_id(2)},
                                         {"w", make_schema_id(2)}};
    static const uint8_t bytes[] = {255, 1, 7, 3, 6};
    make_spool_begin(&spool, PID, THREAD);
    MAKE_SCHEMA(&spool, 3, STATIC, 0, entries); /* read before what it refers to */
    MAKE_SCHEMA(&spool, 1, ENUM, 1, values);
    MAKE_SCHEMA(&spool, 2, ENUM, 1, bits);
    make_payload(&spool, NUMBER, 0, make_schema_id(3), 0x1000, bytes, sizeof(bytes));
    mark(&spool, NUMBER);
    struct trace trace = trace_of_done(&spool);
    payload_is(&trace, "{\"x\":\"minus\",\"y\":\"one\",\"z\":7,\"v\":\"a | b\",\"w\":\"b | 0x4\"}");
    trace_release(&trace);
}

UNIT_TEST(test_pointers_lead_to_pieces)
{
    struct make_spool spool;
    static const struct make_entry inner[] = {{"n", PAYLOAD_TYPE_INT16}};
    const struct make_entry entries[] = {
        {"text", PAYLOAD_TYPE_CSTRING},
        {"array", PAYLOAD_TYPE_INT16, PAYLOAD_FLAG_POINTER | PAYLOAD_FLAG_ARRAY_FIXED, 3},
        {"struct", make_schema_id(1), PAYLOAD_FLAG_POINTER},
        {"within", PAYLOAD_TYPE_INT16, PAYLOAD_FLAG_POINTER},
        {"nowhere", PAYLOAD_TYPE_INT16, PAYLOAD_FLAG_POINTER},
        {"null", PAYLOAD_TYPE_CSTRING},
        {"name", PAYLOAD_TYPE_REGISTERED_STRING},
        {"unknown", PAYLOAD_TYPE_REGISTERED_STRING},
    };
    static const uint64_t bytes[] = {0x2000, 0x3000, 0x3002, 0x3002, 0x4000, 0, 0x5000, 0x6000};
    static const int16_t numbers[] = {1, -2};
    make_spool_begin(&spool, PID, THREAD);
    MAKE_SCHEMA(&spool, 1, STATIC, 2, inner);
    MAKE_SCHEMA(&spool, 2, STATIC, 0, entries);
    make_payload(&spool, NUMBER, 0, make_schema_id(2), 0x1000, bytes, sizeof(bytes));
    make_pointed(&spool, NUMBER, SPOOL_NVTX_PIECE_POINTED, 0x2000, "hello", 5);
    make_pointed(&spool, NUMBER, SPOOL_NVTX_PIECE_POINTED, 0x3000, numbers, sizeof(numbers));
    make_pointed(&spool, NUMBER, SPOOL_NVTX_PIECE_STRING, 0x5000, "registered", 10);
    make_pointed(&spool, NUMBER + 1, SPOOL_NVTX_PIECE_POINTED, 0x4000, "of another event", 16);
    mark(&spool, NUMBER);
    struct trace trace = trace_of_done(&spool);
    payload_is(&trace, "{\"text\":\"hello\",\"array\":[1,-2],\"struct\":{\"n\":-2},\"within\":-2,"
                       "\"nowhere\":\"0x4000\",\"null\":null,\"name\":\"registered\",\"unknown\":\"0x6000\"}");
    trace_release(&trace);
}

UNIT_TEST(test_several_payloads_are_an_array)
{
    struct make_spool spool;
    static const struct make_entry hidden[] = {{"n", PAYLOAD_TYPE_INT8}};
    make_spool_begin(&spool, PID, THREAD);
    make_schema(&spool, 1, PAYLOAD_STATIC, PAYLOAD_SCHEMA_REFERENCED, 1, "hidden", hidden, 1);
    make_payload(&spool, NUMBER, 0, PAYLOAD_TYPE_INT16, 0x1000, "\1\0\2\0\3", 5);
    make_payload(&spool, NUMBER, 1, PAYLOAD_TYPE_REFERENCED, 0x2000, "not shown", 9);
    make_payload(&spool, NUMBER, 2, make_schema_id(1), 0x3000, "n", 1);
    make_payload(&spool, NUMBER, 3, PAYLOAD_TYPE_RAW, 0x4000, "\xab\xcd", 2);
    make_payload(&spool, NUMBER, 4, PAYLOAD_TYPE_CSTRING, 0x5000, "text", 4);
    make_payload(&spool, NUMBER, 5, make_schema_id(7), 0x6000, "?", 1); /* of no schema */
    make_payload(&spool, NUMBER, 6, PAYLOAD_TYPE_INT32, 0, NULL, 0);
    mark(&spool, NUMBER);
    struct trace trace = trace_of_done(&spool);
    payload_is(&trace, "[[1,2],\"abcd\",\"text\",\"3f\",null]");
    trace_release(&trace);
}

UNIT_TEST(test_an_event_whose_payload_is_lost_has_none)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    MAKE_EXTENSION(&spool, NVTX_PIECE, spool_nvtx_piece, SPOOL_NVTX_PIECE_LOST, 0, NULL, 0, .number = NUMBER,
                   .size = 3);
    mark(&spool, NUMBER);
    struct trace trace = trace_of_done(&spool);
    assert_null(payload_of(&trace));
    assert_int_equal(trace.summary.losses.cut_texts, 3);
    trace_release(&trace);
}

UNIT_TEST(test_what_a_pop_tells_counts_more)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_payload(&spool, 1, 0, PAYLOAD_TYPE_INT8, 0x1000, "\1", 1);
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH,
                                         .time = 1000,
                                         .payload = 1,
                                         .payload_type = SPOOL_NVTX_PAYLOAD_PIECES,
                                         .color_type = 1,
                                         .color = 0xff00ff00,
                                         .text = "begun"});
    make_payload(&spool, 2, 0, PAYLOAD_TYPE_INT8, 0x1000, "\2", 1);
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_POP,
                                         .time = 2000,
                                         .payload = 2,
                                         .payload_type = SPOOL_NVTX_PAYLOAD_PIECES,
                                         .text = "ended"});
    struct trace trace = trace_of_done(&spool);
    const cJSON *range = trace_event(&trace, "X", "user_annotation", "ended", 0);
    assert_true(arg_is(range, "payload", 1) && arg_is(range, "end payload", 2));
    assert_true(arg_text_is(range, "color", "#00ff00"));
    trace_release(&trace);
}

UNIT_TEST(test_schemas_that_hold_themselves_end_somewhere)
{
    struct make_spool spool;
    const struct make_entry entries[] = {
        {"n", PAYLOAD_TYPE_INT8},
        {"again", make_schema_id(1), PAYLOAD_FLAG_ARRAY_FIXED, 4},
        {"there", make_schema_id(1), PAYLOAD_FLAG_POINTER | PAYLOAD_FLAG_ARRAY_FIXED, UINT64_MAX - 1, 8},
    };
    static uint64_t bytes[512];
    for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++)
        bytes[i] = 0x1000; /* all point to the beginning */
    for (int kind = PAYLOAD_STATIC; kind <= PAYLOAD_UNION_SELECTED; kind++) {
        make_spool_begin(&spool, PID, THREAD);
        make_schema(&spool, 1, (enum payload_schema_kind)kind, 0, 16, "self", entries, 3);
        make_payload(&spool, NUMBER, 0, make_schema_id(1), 0x1000, bytes, sizeof(bytes));
        mark(&spool, NUMBER);
        struct trace trace = trace_of_done(&spool);
        assert_true(trace.length < 1 << 20);
        trace_release(&trace);
    }
}

static uint64_t random_number(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Records of every extension with anything in them. */
static void make_nonsense(struct make_spool *spool, uint64_t *seed)
{
    static const size_t sizes[] = {
#define TYPE(name, structure, holds) sizeof(struct structure),
        SPOOL_NVTX_EXTENSION_TYPES(TYPE)
#undef TYPE
    };
    static const uint16_t types[] = {
#define TYPE(name, structure, holds) SPOOL_RECORD_##name,
        SPOOL_NVTX_EXTENSION_TYPES(TYPE)
#undef TYPE
    };
    uint64_t words[64];
    size_t kind = random_number(seed) % (sizeof(types) / sizeof(*types)), length = random_number(seed) % 128;
    for (size_t i = 0; i < 64; i++) { /* small numbers meet each other, large ones do harm */
        uint64_t bits = random_number(seed);
        words[i] = bits % 3 == 0 ? bits : bits % 3 == 1 ? bits >> 60 : PAYLOAD_FIRST_SCHEMA + (bits >> 61);
        if (bits >> 32 & 1)
            words[i] = (words[i] & 7) | (bits >> 40 & 7) << 32;
    }
    make_extension(spool, types[kind], (uint16_t)(random_number(seed) % 8), 1000 + random_number(seed) % 1000, words,
                   sizes[kind], words + 32, length);
}

UNIT_TEST(test_nonsense_is_survived)
{
    uint64_t seed = 0x9e3779b97f4a7c15;
    for (int round = 0; round < 200; round++) {
        struct make_spool spool;
        make_spool_begin(&spool, PID, THREAD);
        for (int i = 0; i < 100; i++)
            make_nonsense(&spool, &seed);
        for (uint64_t number = 0; number < 8; number++)
            mark(&spool, number);
        struct trace trace = trace_of_done(&spool); /* is strict JSON, and sound */
        trace_release(&trace);
    }
}

UNIT_MAIN(NULL, NULL)
