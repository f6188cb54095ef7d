#include "tests/unit.h"

#include "trace/json/text.h"

static size_t length_of(const char *text)
{
    struct scan scan;
    return scan_value(text, strlen(text), &scan) ? scan.length : 0;
}

UNIT_TEST(a_value_ends_where_its_brackets_do)
{
    assert_int_equal(length_of("{} "), 2);
    assert_int_equal(length_of("{\"a\": [1, {\"b\": []}]}, {"), 21);
    assert_int_equal(length_of("[[[]]]]"), 6);
    assert_int_equal(length_of("12,"), 2);
    assert_int_equal(length_of("null]"), 4);
    assert_int_equal(length_of("\"text\": 1"), 6);
}

UNIT_TEST(brackets_and_quotes_in_strings_do_not_count)
{
    assert_int_equal(length_of("{\"}]\": \"{\"}x"), 11);
    assert_int_equal(length_of("{\"a\\\"}\": 1}x"), 11);
    assert_int_equal(length_of("\"\\\\\"x"), 4);
    assert_int_equal(length_of("\"\\\\\\\"\"x"), 6);
}

UNIT_TEST(a_value_that_does_not_end_is_reported)
{
    const char *const cut[] = {"", "{", "{\"a", "{\"a\\\"}", "[1, 2", "{\"a\": \"}", "\"", "\"a\\", "12", "nul", "[[]"};
    for (size_t i = 0; i < sizeof(cut) / sizeof(*cut); i++)
        assert_int_equal(length_of(cut[i]), 0);
}

UNIT_TEST(the_phase_is_found_among_the_events_own_keys)
{
    const char text[] = "{\"name\": \"ph\", \"args\": {\"ph\": 1}, \"ph\" : \"X\"}";
    struct scan scan;
    assert_true(scan_value(text, strlen(text), &scan));
    assert_int_equal(strncmp(text + scan.ph, "\"X\"", 3), 0);
    assert_true(scan_value("{\"name\": \"ph\"}", 14, &scan));
    assert_int_equal(scan.ph, 0);
}

UNIT_TEST(of_two_phases_the_last_counts)
{
    const char text[] = "{\"ph\": 1, \"ph\": 2}";
    struct scan scan;
    assert_true(scan_value(text, strlen(text), &scan));
    assert_int_equal(text[scan.ph], '2');
}

static int64_t ns_of(const char *text)
{
    int64_t ns = -1;
    const char *after;
    assert_true(scan_ns(text, &after, &ns));
    assert_int_equal(after - text, strspn(text, "-.0123456789"));
    return ns;
}

UNIT_TEST(microseconds_become_nanoseconds_exactly)
{
    assert_int_equal(ns_of("0"), 0);
    assert_int_equal(ns_of("1"), 1000);
    assert_int_equal(ns_of("1.5,"), 1500);
    assert_int_equal(ns_of("4348656277695.419}"), INT64_C(4348656277695419));
    assert_int_equal(ns_of("1758000000000000.001 "), INT64_C(1758000000000000001));
    assert_int_equal(ns_of("9223372036854775.807"), INT64_MAX);
    assert_int_equal(ns_of("-0.001"), -1);
}

UNIT_TEST(parts_of_nanoseconds_are_rounded_to_the_nearest)
{
    assert_int_equal(ns_of("0.0004"), 0);
    assert_int_equal(ns_of("0.0005"), 1);
    assert_int_equal(ns_of("0.00049999999"), 0);
    assert_int_equal(ns_of("1.9999"), 2000);
    assert_int_equal(ns_of("-1.9999"), -2000);
}

UNIT_TEST(what_is_no_plain_decimal_is_refused)
{
    const char *const wrong[] = {"",
                                 "-",
                                 "x",
                                 "1e3",
                                 "1.5e3",
                                 "1.",
                                 ".5",
                                 "1x",
                                 "\"1\"",
                                 "NaN",
                                 "9223372036854775.808",
                                 "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        int64_t ns = 7;
        assert_false(json_exact_ns((struct json_text){wrong[i], strlen(wrong[i])}, &ns));
        assert_int_equal(ns, 7);
    }
}

UNIT_MAIN(NULL, NULL)
