#include "tests/unit.h"

#include "common/suggest.h"

static const char *nearest(const char *given)
{
    static const char *const words[] = {"run", "report", "doctor", "capture-range"};
    struct suggestion suggestion = suggestion_for(given, strlen(given));
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        suggestion_consider(&suggestion, words[i]);
    return suggestion.word ? suggestion.word : "";
}

static void a_slip_of_the_hand_is_understood(void **state)
{
    (void)state;
    assert_string_equal(nearest("rn"), "run");
    assert_string_equal(nearest("rnu"), "run");
    assert_string_equal(nearest("reprot"), "report");
    assert_string_equal(nearest("docter"), "doctor");
    assert_string_equal(nearest("capturerange"), "capture-range");
    assert_string_equal(nearest("REPORT"), "report");
}

static void another_word_is_not_guessed_at(void **state)
{
    (void)state;
    assert_string_equal(nearest("profile"), "");
    assert_string_equal(nearest("./app"), "");
    assert_string_equal(nearest("fon"), "");
    assert_string_equal(nearest("ran-doctored"), "");
    assert_string_equal(nearest(""), "");
    assert_string_equal(nearest("a-word-that-is-longer-than-any-matrix-that-we-have-room-for-in-the-row"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slip_of_the_hand_is_understood),
        cmocka_unit_test(another_word_is_not_guessed_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
