#include "tests/unit.h"

#include "common/text.h"

UNIT_TEST(characters_of_each_size_are_valid)
{
    assert_int_equal(utf8_size("a", 1), 1);
    assert_int_equal(utf8_size("\xc2\x80", 2), 2);
    assert_int_equal(utf8_size("\xdf\xbf", 2), 2);
    assert_int_equal(utf8_size("\xe0\xa0\x80", 3), 3);
    assert_int_equal(utf8_size("\xef\xbf\xbf", 3), 3);
    assert_int_equal(utf8_size("\xf0\x90\x80\x80", 4), 4);
    assert_int_equal(utf8_size("\xf4\x8f\xbf\xbf", 4), 4);
}

UNIT_TEST(what_is_no_character_has_no_size)
{
    static const char *const wrong[] = {"\x80",
                                        "\xc1\xbf",
                                        "\xe0\x9f\xbf",
                                        "\xed\xa0\x80",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xe2\x28\xa1",
                                        "\xe2\x82\x28"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(utf8_size(wrong[i], strlen(wrong[i])), 0);
    assert_int_equal(utf8_size("\xe2\x82\xac", 2), 0);
    assert_int_equal(utf8_size("", 0), 0);
}

static void expect_wide(const wchar_t *wide, size_t space, const char *text)
{
    char out[64];
    size_t size = utf8_from_wide(out, space, wide);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(out, text, size);
}

UNIT_TEST(wide_strings_become_utf8)
{
    expect_wide(L"a\u00e4\u20ac\U0001f600", 64, "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    const wchar_t wrong[] = {0xd800, 0x110000, 0};
    expect_wide(wrong, 64, UTF8_REPLACEMENT UTF8_REPLACEMENT);
}

UNIT_TEST(wide_strings_are_cut_between_characters)
{
    expect_wide(L"a\u20ac", 4, "a\xe2\x82\xac");
    expect_wide(L"a\u20ac", 3, "a");
    expect_wide(L"a\u20ac", 0, "");
}

static void expect_units(const void *units, size_t count, size_t width, const char *text)
{
    char out[64];
    size_t size = utf8_from_units(out, sizeof(out), units, count, width);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(out, text, size);
}

UNIT_TEST(units_of_other_encodings_become_utf8)
{
    static const uint16_t halves[] = {'a', 0xe4, 0xd83d, 0xde00};
    static const uint16_t wrong[] = {0xde00, 0xd83d, 'b', 0xd83d};
    static const uint32_t whole[] = {0x20ac, 0, 'c'};
    expect_units(halves, 4, 2, "a\xc3\xa4\xf0\x9f\x98\x80");
    expect_units(wrong, 4, 2, UTF8_REPLACEMENT UTF8_REPLACEMENT "b" UTF8_REPLACEMENT);
    char odd[13] = "";
    char out[8];
    memcpy(odd + 1, whole, sizeof(whole)); /* they need not be aligned */
    assert_int_equal(utf8_from_units(out, sizeof(out), odd + 1, 3, 4), 5);
    assert_memory_equal(out, "\xe2\x82\xac\0c", 5);
    assert_int_equal(utf8_from_units(out, 2, odd + 1, 1, 4), 0);
}

/* --- */

static const char *nearest(const char *given)
{
    static const char *const words[] = {"run", "report", "doctor", "capture-range"};
    struct suggestion suggestion = suggestion_for(given, strlen(given));
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        suggestion_consider(&suggestion, words[i]);
    return suggestion.word ? suggestion.word : "";
}

UNIT_TEST(a_slip_of_the_hand_is_understood)
{
    assert_string_equal(nearest("rn"), "run");
    assert_string_equal(nearest("rnu"), "run");
    assert_string_equal(nearest("reprot"), "report");
    assert_string_equal(nearest("docter"), "doctor");
    assert_string_equal(nearest("capturerange"), "capture-range");
    assert_string_equal(nearest("REPORT"), "report");
}

UNIT_TEST(another_word_is_not_guessed_at)
{
    assert_string_equal(nearest("profile"), "");
    assert_string_equal(nearest("./app"), "");
    assert_string_equal(nearest("fon"), "");
    assert_string_equal(nearest("ran-doctored"), "");
    assert_string_equal(nearest(""), "");
    assert_string_equal(nearest("a-word-that-is-longer-than-any-matrix-that-we-have-space-for-in-the-row"), "");
}

UNIT_TEST(counts_have_separators_and_their_noun)
{
    assert_string_equal(text_count(0, "event").text, "0 events");
    assert_string_equal(text_count(1, "event").text, "1 event");
    assert_string_equal(text_count(999, NULL).text, "999");
    assert_string_equal(text_count(1000, "more row").text, "1,000 more rows");
    assert_string_equal(text_count(1020030, NULL).text, "1,020,030");
    assert_string_equal(text_count(UINT64_MAX, NULL).text, "18,446,744,073,709,551,615");
}

UNIT_MAIN(NULL, NULL)