#include "tests/unit.h"

#include "common/settings.h"

static const char *ranks_of(const char *list)
{
    static char text[64];
    char *at = text;
    *at = '\0';
    for (int rank = -1; rank < 20; rank++)
        if (rank_list_has(list, rank))
            at += sprintf(at, "%d ", rank);
    return text;
}

UNIT_TEST(numbers_spans_and_every_nth_are_read)
{
    assert_string_equal(ranks_of("0,7"), "0 7 ");
    assert_string_equal(ranks_of("3"), "3 ");
    assert_string_equal(ranks_of("0-3"), "0 1 2 3 ");
    assert_string_equal(ranks_of("5-5,2"), "2 5 ");
    assert_string_equal(ranks_of("every:8"), "0 8 16 ");
    assert_string_equal(ranks_of("every:8,1,17-18"), "0 1 8 16 17 18 ");
}

UNIT_TEST(what_is_not_a_list_of_ranks_is_not_valid)
{
    static const char *const wrong[] = {"",   ",",    "1,",   ",1",     "a",       "1 ",    "-1",         "3-1",
                                        "1-", "1--2", "1,,2", "every:", "every:0", "every", "9999999999", "0-1-2"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_false(rank_list_is_valid(wrong[i]));
        assert_string_equal(ranks_of(wrong[i]), "");
    }
    assert_true(rank_list_is_valid("0,7"));
    assert_true(rank_list_is_valid("every:2,0-999999999"));
}

UNIT_MAIN(NULL, NULL)
