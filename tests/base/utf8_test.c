#include "tests/unit.h"

#include "base/utf8.h"

static void characters_of_each_size_are_valid(void **state)
{
    (void)state;
    assert_int_equal(utf8_size("a", 1), 1);
    assert_int_equal(utf8_size("\xc2\x80", 2), 2);
    assert_int_equal(utf8_size("\xdf\xbf", 2), 2);
    assert_int_equal(utf8_size("\xe0\xa0\x80", 3), 3);
    assert_int_equal(utf8_size("\xef\xbf\xbf", 3), 3);
    assert_int_equal(utf8_size("\xf0\x90\x80\x80", 4), 4);
    assert_int_equal(utf8_size("\xf4\x8f\xbf\xbf", 4), 4);
}

static void what_is_no_character_has_no_size(void **state)
{
    (void)state;
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

static void expect_wide(const wchar_t *wide, size_t room, const char *text)
{
    char out[64];
    size_t size = utf8_from_wide(out, room, wide);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(out, text, size);
}

static void wide_strings_become_utf8(void **state)
{
    (void)state;
    expect_wide(L"a\u00e4\u20ac\U0001f600", 64, "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    const wchar_t wrong[] = {0xd800, 0x110000, 0};
    expect_wide(wrong, 64, UTF8_REPLACEMENT UTF8_REPLACEMENT);
}

static void wide_strings_are_cut_between_characters(void **state)
{
    (void)state;
    expect_wide(L"a\u20ac", 4, "a\xe2\x82\xac");
    expect_wide(L"a\u20ac", 3, "a");
    expect_wide(L"a\u20ac", 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_of_each_size_are_valid),
        cmocka_unit_test(what_is_no_character_has_no_size),
        cmocka_unit_test(wide_strings_become_utf8),
        cmocka_unit_test(wide_strings_are_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
