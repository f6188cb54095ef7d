#include "tests/unit.h"

#include <math.h>

#include "common/json_out.h"
#include "common/buffer.h"

struct page {
    struct buffer buffer;
    struct json_out json;
};

static int open_page(struct page *page, bool pretty)
{
    buffer_init_memory(&page->buffer);
    json_out_init(&page->json, &page->buffer, pretty);
    return 0;
}

static void expect_page(struct page *page, const char *text)
{
    buffer_char(&page->buffer, '\0');
    assert_int_equal(buffer_finish(&page->buffer), 0);
    assert_string_equal(page->buffer.data, text);
    buffer_release(&page->buffer);
}

UNIT_TEST(commas_stand_between_values_and_nowhere_else)
{
    struct page page;
    open_page(&page, false);
    struct json_out *json = &page.json;
    json_begin_object(json);
    json_key(json, "a");
    json_begin_array(json);
    json_end(json);
    json_key(json, "b");
    json_begin_array(json);
    json_u64(json, UINT64_MAX);
    json_i64(json, INT64_MIN);
    json_bool(json, true);
    json_string(json, NULL);
    json_end(json);
    json_key(json, "c");
    json_begin_object(json);
    json_end(json);
    json_end(json);
    expect_page(&page, "{\"a\":[],\"b\":[18446744073709551615,-9223372036854775808,true,null],\"c\":{}}");
}

UNIT_TEST(pretty_output_has_a_line_per_value)
{
    struct page page;
    open_page(&page, true);
    struct json_out *json = &page.json;
    json_begin_object(json);
    json_key(json, "list");
    json_begin_array_flat(json);
    json_u64(json, 1);
    json_u64(json, 2);
    json_end(json);
    json_key(json, "inner");
    json_begin_object(json);
    json_key(json, "x");
    json_bool(json, false);
    json_end(json);
    json_end(json);
    expect_page(&page, "{\n  \"list\": [1, 2],\n  \"inner\": {\n    \"x\": false\n  }\n}");
}

static void expect_escaped(const char *bytes, size_t length, const char *text)
{
    struct buffer buffer;
    buffer_init_memory(&buffer);
    json_escape(&buffer, bytes, length);
    buffer_char(&buffer, '\0');
    assert_string_equal(buffer.data, text);
    buffer_release(&buffer);
}

UNIT_TEST(what_json_demands_is_escaped)
{
    expect_escaped("a\"b\\c\n\t\r\b\f\x01\x1f", 12, "a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001\\u001f");
    expect_escaped("\0", 1, "\\u0000");
    expect_escaped("\x7f", 1, "\x7f");
    expect_escaped("", 0, "");
}

UNIT_TEST(utf8_stays_as_it_is)
{
    expect_escaped("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
}

UNIT_TEST(bytes_that_are_no_character_become_replacements)
{
    expect_escaped("a\xff\x62", 3, "a\xef\xbf\xbd\x62");
    expect_escaped("\xc3", 1, "\xef\xbf\xbd");                                 /* cut */
    expect_escaped("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* surrogate */
    expect_escaped("\xc0\x80", 2, "\xef\xbf\xbd\xef\xbf\xbd");                 /* overlong */
}

static void expect_us(int64_t ns, const char *text)
{
    struct page page;
    open_page(&page, false);
    json_us(&page.json, ns);
    expect_page(&page, text);
}

UNIT_TEST(nanoseconds_become_microseconds_exactly)
{
    expect_us(0, "0.000");
    expect_us(1, "0.001");
    expect_us(-1, "-0.001");
    expect_us(123456789, "123456.789");
    expect_us(INT64_MAX, "9223372036854775.807");
    expect_us(INT64_MIN, "-9223372036854775.808");
}

static void expect_double(double value, int decimals, const char *text)
{
    struct page page;
    open_page(&page, false);
    json_double(&page.json, value, decimals);
    expect_page(&page, text);
}

UNIT_TEST(numbers_are_finite_and_short)
{
    expect_double(0.1, -1, "0.1");
    expect_double(1.0 / 3, -1, "0.3333333333333333");
    expect_double(2.5, 2, "2.50");
    expect_double((double)NAN, -1, "0");
    expect_double(-(double)INFINITY, 1, "0.0");
}

UNIT_MAIN(NULL, NULL)
