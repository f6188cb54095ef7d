#include "tests/unit.h"

#include "analysis/base/value_text.h"

static void assert_value(enum column_type type, struct cell cell, const char *expected)
{
    char text[96];
    struct value_text value = value_text_of(&cell, type, 0, false);
    snprintf(text, sizeof(text), "%s%s%s", value.number, *value.unit ? " " : "", value.unit);
    assert_string_equal(text, expected);
}

UNIT_TEST(times_have_three_digits_and_the_unit_that_suits)
{
    assert_value(TYPE_NS, cell_integer(0), "0 ns");
    assert_value(TYPE_NS, cell_integer(999), "999 ns");
    assert_value(TYPE_NS, cell_integer(1000), "1.00 µs");
    assert_value(TYPE_NS, cell_integer(9994), "9.99 µs");
    assert_value(TYPE_NS, cell_integer(9996), "10.0 µs");
    assert_value(TYPE_NS, cell_integer(99960), "100 µs");
    assert_value(TYPE_NS, cell_integer(999499), "999 µs");
    assert_value(TYPE_NS, cell_integer(999600), "1.00 ms");
    assert_value(TYPE_NS, cell_integer(12345678), "12.3 ms");
    assert_value(TYPE_NS, cell_integer(INT64_C(5848000000)), "5.85 s");
    assert_value(TYPE_NS, cell_integer(INT64_C(86400000000000)), "86,400 s");
    assert_value(TYPE_NS, cell_integer(-1500), "-1.50 µs");
    assert_value(TYPE_NS, cell_real(0.25), "0.2 ns");
    assert_value(TYPE_NS, cell_real(703.7), "704 ns");
}

UNIT_TEST(sizes_and_rates_too)
{
    assert_value(TYPE_BYTES, cell_integer(396), "396 B");
    assert_value(TYPE_BYTES, cell_integer(1024), "1.00 KiB");
    assert_value(TYPE_BYTES, cell_integer(1047552), "1,023 KiB");
    assert_value(TYPE_BYTES, cell_integer(1048575), "1.00 MiB");
    assert_value(TYPE_BYTES, cell_integer(INT64_C(4831838208)), "4.50 GiB");
    assert_value(TYPE_BYTES, cell_integer(INT64_MAX), "8.00 EiB");
    assert_value(TYPE_RATE, cell_real(47.674), "47.7 GB/s");
    assert_value(TYPE_RATE, cell_real(0.00245), "2.45 MB/s");
    assert_value(TYPE_RATE, cell_real(0), "0 B/s");
}

UNIT_TEST(counts_have_separators_and_numbers_have_none)
{
    assert_value(TYPE_COUNT, cell_integer(7), "7");
    assert_value(TYPE_COUNT, cell_integer(999), "999");
    assert_value(TYPE_COUNT, cell_integer(1000), "1,000");
    assert_value(TYPE_COUNT, cell_integer(1234567), "1,234,567");
    assert_value(TYPE_COUNT, cell_integer(-123456), "-123,456");
    assert_value(TYPE_COUNT, cell_integer(-INT64_MAX), "-9,223,372,036,854,775,807");
    assert_value(TYPE_NUMBER, cell_integer(123456), "123456");
    assert_value(TYPE_PERCENT, cell_real(17.52), "17.5");
}

UNIT_TEST(points_in_time_have_microseconds)
{
    struct cell cell = cell_integer(INT64_C(5848123456));
    assert_string_equal(value_text_of(&cell, TYPE_NS, COLUMN_MOMENT, false).number, "5.848123");
    assert_string_equal(value_text_of(&cell, TYPE_NS, COLUMN_MOMENT, false).unit, "s");
    const struct cell later = cell_integer(12345678), early = cell_integer(459000);
    assert_string_equal(value_text_of(&later, TYPE_NS, COLUMN_MOMENT, false).number, "12.346");
    assert_string_equal(value_text_of(&later, TYPE_NS, COLUMN_MOMENT, false).unit, "ms");
    assert_string_equal(value_text_of(&early, TYPE_NS, COLUMN_MOMENT, false).number, "459");
    assert_string_equal(value_text_of(&early, TYPE_NS, COLUMN_MOMENT, false).unit, "µs");
}

UNIT_TEST(microseconds_are_us_in_ascii)
{
    struct cell cell = cell_integer(1500);
    assert_string_equal(value_text_of(&cell, TYPE_NS, 0, true).unit, "us");
}

UNIT_MAIN(NULL, NULL)
