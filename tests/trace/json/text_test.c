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
    size_t at;
    return json_check(text, strlen(text), &at) ? -1 : (int)at;
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
    } invalid[] = {{"", 0},
                   {" ", 1},
                   {"NaN", 0},
                   {"tru", 0},
                   {"01", 1},
                   {"1.", 2},
                   {".5", 0},
                   {"+1", 0},
                   {"-", 1},
                   {"1e+", 3},
                   {"0x1", 1},
                   {"[1,]", 3},
                   {"[1 2]", 3},
                   {"{\"a\":1,}", 7},
                   {"{\"a\"}", 4},
                   {"{1:2}", 1},
                   {"[}", 1},
                   {"[", 1},
                   {"{\"a\":[]", 7},
                   {"\"a", 2},
                   {"\"\\x\"", 1},
                   {"\"\\u12\"", 1},
                   {"\"\\ud800\"", 1},
                   {"\"\\udc00\"", 1},
                   {"[] []", 3},
                   {"\"\\ud800\\u0041\"", 1}};
    for (size_t i = 0; i < sizeof(invalid) / sizeof(*invalid); i++)
        assert_int_equal(error_at(invalid[i].text), invalid[i].at);
}

UNIT_TEST(depth_is_limited)
{
    static char nested[2 * (JSON_TEXT_DEPTH_MAX + 1)];
    size_t at, depth = JSON_TEXT_DEPTH_MAX;
    memset(nested, '[', depth);
    memset(nested + depth, ']', depth);
    assert_true(json_check(nested, 2 * depth, &at));
    memset(nested, '[', depth + 1);
    memset(nested + depth + 1, ']', depth + 1);
    assert_false(json_check(nested, 2 * (depth + 1), &at));
    assert_int_equal(at, depth);
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
