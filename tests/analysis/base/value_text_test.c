#include "tests/unit.h"

#include "analysis/base/value_text.h"
#include "analysis/render/render.h"

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

/* --- shortened texts --- */

#define MOST 16

static struct shorten_text texts[MOST];

/* What becomes of COUNT texts, freed by release(). */
static void shorten(const char *const *list, size_t count, size_t width, bool ascii)
{
    for (size_t i = 0; i < count; i++)
        texts[i] = (struct shorten_text){list[i], strlen(list[i]), render_width(list[i], strlen(list[i])), NULL};
    assert_int_equal(shorten_all(texts, count, width, ascii), 0);
    for (size_t i = 0; i < count; i++)
        if (texts[i].shortened)
            assert_true(render_width(texts[i].shortened, strlen(texts[i].shortened)) <= width);
}

static void release(size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i].shortened);
}

UNIT_TEST(a_text_that_fits_stays)
{
    static const char *const list[] = {"12345678", ""};
    shorten(list, 2, 8, false);
    assert_null(texts[0].shortened);
    assert_null(texts[1].shortened);
}

UNIT_TEST(a_long_text_loses_its_middle)
{
    static const char *const list[] = {"abcdefghijklmnopqrstuvwxyz", "äöüäöüäöüäöüäöüäöü"};
    shorten(list, 2, 10, false);
    assert_string_equal(texts[0].shortened, "abcdef…xyz");
    assert_string_equal(texts[1].shortened, "äöüäöü…äöü");
    release(2);
    shorten(list, 1, 12, true);
    assert_string_equal(texts[0].shortened, "abcdef...xyz");
    release(1);
}

UNIT_TEST(texts_that_differ_at_their_end_keep_more_of_it)
{
    static const char *const list[] = {"a_common_start_of_names_number_one_x", "a_common_start_of_names_number_two_x"};
    shorten(list, 2, 16, false);
    assert_string_not_equal(texts[0].shortened, texts[1].shortened);
    assert_non_null(strstr(texts[0].shortened, "one_x"));
    release(2);
}

UNIT_TEST(texts_that_differ_in_their_middle_keep_that)
{
    static const char *const list[] = {
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4",
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4",
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x32x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4",
    };
    shorten(list, 3, 24, false);
    for (size_t i = 0; i < 3; i++)
        assert_string_not_equal(texts[i].shortened, texts[(i + 1) % 3].shortened);
    assert_non_null(strstr(texts[0].shortened, "tn_n"));
    assert_non_null(strstr(texts[1].shortened, "nn_n"));
    release(3);
}

UNIT_TEST(equal_texts_are_shortened_alike)
{
    static const char *const list[] = {"the same text, which is long", "the same text, which is long",
                                       "another text, which is long"};
    shorten(list, 3, 16, false);
    assert_string_equal(texts[0].shortened, texts[1].shortened);
    assert_string_not_equal(texts[0].shortened, texts[2].shortened);
    release(3);
}

UNIT_MAIN(NULL, NULL)
