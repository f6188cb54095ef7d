/*
 * Lines from the three formats of tables, written by hand; frames_test compares those that interpreters write.
 */
#include "common/python_layout.h"

#include "tests/unit.h"

#define TABLE(the_kind, ...)                                                            \
    (struct line_table)                                                                 \
    {                                                                                   \
        .kind = (the_kind), .first = 10, .bytes = (const unsigned char[]){__VA_ARGS__}, \
        .length = sizeof((const unsigned char[]){__VA_ARGS__})                          \
    }

static void assert_lines(const struct line_table *table, const uint32_t *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(line_at(table, 2 * (int64_t)i), expected[i]);
}

UNIT_TEST(before_the_first_instruction_the_line_is_the_codes)
{
    for (enum python_lines_kind kind = PYTHON_LNOTAB; kind <= PYTHON_LOCATIONS; kind++) {
        struct line_table table = {.kind = kind, .first = 10, .bytes = (const unsigned char[]){0}};
        assert_int_equal(line_at(&table, -1), 10);
        assert_int_equal(line_at(&table, -2), 10);
    }
}

UNIT_TEST(an_lnotab_goes_forwards_and_back)
{
    /* From byte 4 on line 11, from 6 on 9, then in two steps more than 127 lines further. */
    struct line_table table = TABLE(PYTHON_LNOTAB, 4, 1, 2, 0xfe, 2, 127, 0, 3);
    static const uint32_t expected[] = {10, 10, 11, 9, 139, 139};
    assert_lines(&table, expected, 6);
}

UNIT_TEST(a_linetable_has_code_without_a_line)
{
    struct line_table table = TABLE(PYTHON_LINETABLE, 4, 0, 2, 0x80, 2, 5, 0, 100, 2, 0xff);
    static const uint32_t expected[] = {10, 10, 0, 15, 114, 0};
    assert_lines(&table, expected, 6);
}

/* The first byte of an entry of UNITS instructions. */
#define ENTRY(form, units) (0x80 | (form) << 3 | ((units) - 1))

UNIT_TEST(locations_have_short_and_long_forms)
{
    struct line_table table = TABLE(PYTHON_LOCATIONS, ENTRY(0, 2), 0x12, /* the same line */
                                    ENTRY(11, 1), 1, 2,                  /* one further */
                                    ENTRY(12, 1), 1, 2,                  /* two further */
                                    ENTRY(13, 1), 3,                     /* one back: sign in the lowest bit */
                                    ENTRY(15, 1),                        /* none */
                                    ENTRY(14, 1), 64 | 0, 4, 0, 1, 1,    /* 128 further: in two parts */
                                    ENTRY(10, 1), 5, 6);
    static const uint32_t expected[] = {10, 10, 11, 13, 12, 0, 140, 140, 0};
    assert_lines(&table, expected, 9);
}

UNIT_TEST(tables_that_are_cut_say_nothing_wrong)
{
    struct line_table odd = TABLE(PYTHON_LNOTAB, 4, 1, 2), linetable = TABLE(PYTHON_LINETABLE, 4);
    struct line_table entry = TABLE(PYTHON_LOCATIONS, ENTRY(14, 1)), number = TABLE(PYTHON_LOCATIONS, ENTRY(13, 1), 64);
    assert_int_equal(line_at(&odd, 100), 11);
    assert_int_equal(line_at(&linetable, 0), 0);
    assert_int_equal(line_at(&entry, 0), 10);
    assert_int_equal(line_at(&number, 0), 10);
    assert_int_equal(line_at(&number, 100), 0);
}

/* Endless numbers end. */
UNIT_TEST(numbers_have_a_most_length)
{
    unsigned char bytes[64];
    memset(bytes, 0x7f, sizeof(bytes));
    bytes[0] = ENTRY(13, 1);
    struct line_table table = {PYTHON_LOCATIONS, bytes, sizeof(bytes), 10};
    assert_int_equal(line_at(&table, 0), 0);
    assert_int_equal(line_at(&table, 1000), 0);
}

UNIT_MAIN(NULL, NULL)
