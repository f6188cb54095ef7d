#include "tests/unit.h"

#include <stdio.h>

#include "common/text.h"

/* What bash reads of the word. */
static void expect_same(const char *text)
{
    char command[512], read[256];
    snprintf(command, sizeof(command), "cat <<'END' | bash\nprintf %%s %s\nEND", shell_word(text));
    FILE *shell = popen(command, "r");
    assert_non_null(shell);
    read[fread(read, 1, sizeof(read) - 1, shell)] = '\0';
    assert_int_equal(pclose(shell), 0);
    assert_string_equal(read, text);
}

UNIT_TEST(a_plain_word_is_as_it_is)
{
    assert_string_equal(shell_word("/tmp/gputrace-aB3/trace_1.json"), "/tmp/gputrace-aB3/trace_1.json");
    assert_string_equal(shell_file("-o.json"), "./-o.json");
    assert_string_equal(shell_file("-a b"), "'./-a b'");
    assert_string_equal(shell_word("--to=60%"), "--to=60%");
}

UNIT_TEST(a_shell_reads_the_text)
{
    static const char *const texts[] = {
        "a b",   "it's", "$HOME `id` \\ \"x\"", "tab\there",       "line\nbreak's \\n", "",
        "~root", "#x",   "*?[a]{b,c}",          "a;b&c|d<e>f(g)!", "caf\xc3\xa9"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        expect_same(texts[i]);
}

UNIT_TEST(four_words_last_in_one_message)
{
    char text[128];
    snprintf(text, sizeof(text), "%s %s %s %s", shell_word("a b"), shell_word("c d"), shell_word("e f"),
             shell_word("g h"));
    assert_string_equal(text, "'a b' 'c d' 'e f' 'g h'");
}

UNIT_MAIN(NULL, NULL)
