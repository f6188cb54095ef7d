#include "tests/unit.h"

#include "common/buffer.h"
#include "trace/json/text.h"

static struct json_text text(const char *value)
{
    return (struct json_text){value, strlen(value)};
}

/* Where TEXT stops being JSON; -1: it is valid. */
static int error_at(const char *text)
{
    struct json_fault fault;
    return json_check(text, strlen(text), &fault) ? -1 : (int)fault.at;
}

UNIT_TEST(values_are_valid)
{
    static const char *const valid[] = {"0",
                                        "-0",
                                        "10",
                                        "-1.5e-3",
                                        "1E+0",
                                        "1e999",
                                        "123456789012345678901234567890",
                                        "true",
                                        "null",
                                        "\"\"",
                                        "[]",
                                        "{}",
                                        " [ ] ",
                                        "[1,[2,{\"a\":{\"b\":[]}}],\"x\"]",
                                        "\"\t\xff\"",
                                        "NaN",
                                        "[-Infinity, Infinity]",
                                        "\"\\ud800\"",
                                        "\"\\udc00\"",
                                        "\"\\ud800\\u0041\"",
                                        "\"\\u0041\\/\\ud83d\\uDE00\\n\"",
                                        "{\"a\" : 1 , \"a\" : 2}"};
    for (size_t i = 0; i < sizeof(valid) / sizeof(*valid); i++)
        assert_int_equal(error_at(valid[i]), -1);
}

UNIT_TEST(an_error_has_its_place)
{
    static const struct {
        const char *text;
        int at;
    } invalid[] = {{"", 0},          {" ", 1},    {"nan", 0},  {"inf", 0},       {"-NaN", 1},       {"infinity", 0},
                   {"tru", 0},       {"01", 1},   {"1.", 2},   {".5", 0},        {"+1", 0},         {"-", 1},
                   {"1e+", 3},       {"0x1", 1},  {"[1,]", 3}, {"[1 2]", 3},     {"{\"a\":1,}", 7}, {"{\"a\"}", 4},
                   {"{1:2}", 1},     {"[}", 1},   {"[", 1},    {"{\"a\":[]", 7}, {"\"a", 2},        {"\"\\x\"", 1},
                   {"\"\\u12\"", 1}, {"[] []", 3}};
    for (size_t i = 0; i < sizeof(invalid) / sizeof(*invalid); i++)
        assert_int_equal(error_at(invalid[i].text), invalid[i].at);
}

UNIT_TEST(depth_is_limited)
{
    static char nested[2 * (JSON_TEXT_DEPTH_MAX + 1)];
    struct json_fault fault;
    size_t depth = JSON_TEXT_DEPTH_MAX;
    memset(nested, '[', depth);
    memset(nested + depth, ']', depth);
    assert_true(json_check(nested, 2 * depth, &fault));
    memset(nested, '[', depth + 1);
    memset(nested + depth + 1, ']', depth + 1);
    assert_false(json_check(nested, 2 * (depth + 1), &fault));
    assert_int_equal(fault.at, depth);
}

static void assert_clean(const char *from, const char *to)
{
    struct buffer scratch;
    buffer_init_memory(&scratch);
    struct json_text clean = json_clean(text(from), &scratch);
    assert_int_equal(clean.length, strlen(to));
    assert_memory_equal(clean.at, to, clean.length);
    buffer_release(&scratch);
}

UNIT_TEST(strings_become_valid_utf8_with_needed_escapes_alone)
{
    struct buffer scratch;
    buffer_init_memory(&scratch);
    struct json_text plain = text("{\"é\": [1, \"b\"]}");
    assert_ptr_equal(json_clean(plain, &scratch).at, plain.at);
    buffer_release(&scratch);
    assert_clean("{\"a\xff\":1}", "{\"a\xef\xbf\xbd\":1}");
    assert_clean("[\"\t\", \"\x01\"]", "[\"\\t\", \"\\u0001\"]");
    assert_clean("\"\\u0058\\/\\ud83d\\ude00\\u0000\\\"\\\\\"", "\"X/\xf0\x9f\x98\x80\\u0000\\\"\\\\\"");
}

UNIT_TEST(what_python_writes_becomes_valid)
{
    assert_clean("[NaN,\"NaN\", -Infinity , {\"Infinity\":Infinity}]", "[null,\"NaN\", null , {\"Infinity\":null}]");
    assert_clean("NaN", "null");
    assert_clean("\"\\ud800\\ud83d\\ude00\\udc00\\ud800\\u0041\"",
                 "\"\xef\xbf\xbd\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd\x41\"");
}

UNIT_TEST(a_fault_has_its_cause_and_its_key)
{
    static const struct {
        const char *text, *expected, *key;
        bool certain;
    } faults[] = {
        {"{\"a\":1,\"name\":\"{\"device\": \"cpu\"} of this\"}", "',' or '}'", "name", true},
        {"{\"a\":\"b\\c\",\"long\":\"enough\",\"x\":1}", "an escape", "a", true},
        {"{\"a\":1,\"b\": inf, \"c\": \"more text\"}", "a value", "b", true},
        {"{\"a\":1, 2}", "a key in quotes", "a", false},
        {"{\"a\":\"b", "the end of a text", "a", false},
        {"{\"a\":[1", "the rest of a value", "a", false},
    };
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        struct json_fault fault;
        assert_false(json_check(faults[i].text, strlen(faults[i].text), &fault));
        assert_contains(fault.expected, faults[i].expected);
        assert_int_equal(fault.key.length, strlen(faults[i].key));
        assert_memory_equal(fault.key.at, faults[i].key, fault.key.length);
        assert_int_equal(fault.certain, faults[i].certain);
    }
}

UNIT_TEST(escapes_become_what_they_stand_for)
{
    struct buffer out;
    buffer_init_memory(&out);
    json_unescape(&out, text("a\\n\\u00e9\\ud83d\\ude00\\\\"));
    buffer_char(&out, '\0');
    assert_string_equal(out.data, "a\né\xf0\x9f\x98\x80\\");
    buffer_release(&out);
}

static bool finds(const char *members, uint64_t *value)
{
    return json_find_integer(members, strlen(members), "stack", value);
}

UNIT_TEST(an_integer_is_found_among_members_and_nowhere_else)
{
    uint64_t value;
    assert_true(finds("\"a\": 1, \"stack\": 28, \"b\": 2", &value));
    assert_int_equal(value, 28);
    assert_false(finds("\"a\": \"stack\", \"b\": {\"stack\": 3}, \"stacks\": 4", &value));
    assert_false(finds("\"stack\": \"5\"", &value));
    assert_false(finds("\"stack\": -5", &value));
    assert_false(finds("\"stack\": 5.5", &value));
    assert_false(finds("\"stack\": 99999999999999999999", &value));
    assert_false(finds("", &value));
}

UNIT_MAIN(NULL, NULL)
