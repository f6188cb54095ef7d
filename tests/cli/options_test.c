#include "tests/unit.h"

#include <stdbool.h>

#include "cli/options.h"

struct settings {
    bool flag;
    const char *text;
    int called;
    const char *value;
    int64_t number;
    int choice;
};

static int take(void *context, const char *value)
{
    struct settings *settings = context;
    settings->called++;
    settings->value = value;
    return value && strcmp(value, "bad") == 0 ? -1 : 0;
}

static const struct option_row rows[] = {
    {.word = "flag", .letter = 'f', .help = "set it", .type = OPTION_FLAG, .offset = offsetof(struct settings, flag)},
    {.word = "text",
     .letter = 't',
     .argument = "TEXT",
     .help = "store it\nfor later",
     .type = OPTION_TEXT,
     .offset = offsetof(struct settings, text)},
    {.word = "call", .argument = "VALUE", .help = "call it", .type = OPTION_CALL, .take = take},
    {.word = "number",
     .argument = "N",
     .help = "count",
     .type = OPTION_NUMBER,
     .least = 1,
     .most = 20,
     .unit = "things from 1 to 20",
     .offset = offsetof(struct settings, number)},
    {.word = "choice",
     .argument = "WORD",
     .help = "choose",
     .type = OPTION_CHOICE,
     .choices = (const struct option_choice[]){{"first", 7}, {"second", 8}, {NULL, 0}},
     .offset = offsetof(struct settings, choice)},
    {.word = NULL},
};
static const struct command command = {
    .name = "test", .operands = "FILE...", .summary = "try options", .options = rows};

/* Parses up to eight words after the command's name; the words that are left come to be in `left`. */
static char *left[12];
static int parse(struct settings *settings, bool stop_at_operand, const char *const words[])
{
    static char copies[12][64];
    int count = 1;
    left[0] = copies[0];
    snprintf(copies[0], sizeof(copies[0]), "test");
    for (; words[count - 1]; count++) {
        snprintf(copies[count], sizeof(copies[0]), "%s", words[count - 1]);
        left[count] = copies[count];
    }
    left[count] = NULL;
    *settings = (struct settings){0};
    return options_parse(&command, settings, count, left, stop_at_operand);
}
#define PARSE(settings, stop, ...) parse(settings, stop, (const char *const[]){__VA_ARGS__, NULL})

UNIT_TEST(every_way_of_writing_an_argument_works)
{
    struct settings settings;
    assert_int_equal(PARSE(&settings, 0, "--text=a"), 2);
    assert_string_equal(settings.text, "a");
    assert_int_equal(PARSE(&settings, 0, "--text", "b"), 3);
    assert_string_equal(settings.text, "b");
    assert_int_equal(PARSE(&settings, 0, "-tc"), 2);
    assert_string_equal(settings.text, "c");
    assert_int_equal(PARSE(&settings, 0, "-t", "d"), 3);
    assert_string_equal(settings.text, "d");
    assert_int_equal(PARSE(&settings, 0, "-ft", "e"), 3);
    assert_true(settings.flag);
    assert_string_equal(settings.text, "e");
    assert_int_equal(PARSE(&settings, 0, "--text="), 2);
    assert_string_equal(settings.text, "");
}

UNIT_TEST(options_and_operands_may_be_mixed)
{
    struct settings settings;
    int first = PARSE(&settings, 0, "one", "--flag", "two", "--call=x", "--", "--three");
    assert_int_equal(first, 4);
    assert_true(settings.flag);
    assert_int_equal(settings.called, 1);
    assert_string_equal(left[first], "one");
    assert_string_equal(left[first + 1], "two");
    assert_string_equal(left[first + 2], "--three");
}

UNIT_TEST(a_program_keeps_its_own_options)
{
    struct settings settings;
    int first = PARSE(&settings, 1, "-f", "program", "-t", "--flag");
    assert_int_equal(first, 2);
    assert_null(settings.text);
    first = PARSE(&settings, 1, "-f", "--", "-program", "-t");
    assert_string_equal(left[first], "-program");
}

static const char *refused(int stop, const char *word)
{
    struct settings settings;
    unit_stderr_begin();
    int result = PARSE(&settings, stop, word);
    const char *text = unit_stderr_end();
    assert_int_equal(result, OPTIONS_ERROR);
    return text;
}

UNIT_TEST(what_is_wrong_is_named)
{
    assert_contains(refused(0, "--flags"), "did you mean '--flag'?");
    assert_contains(refused(0, "--wholly-other"), "no option '--wholly-other' in 'test'");
    assert_contains(refused(0, "--wholly-other=5"), "no option '--wholly-other' in 'test'");
    assert_contains(refused(0, "-x"), "no option '-x'");
    assert_contains(refused(0, "--text"), "'--text' needs an argument: --text=TEXT");
    assert_contains(refused(0, "-t"), "'--text' needs an argument");
    assert_contains(refused(0, "--flag=yes"), "'--flag' takes no argument");
}

UNIT_TEST(numbers_and_choices_are_checked)
{
    static const char *const wrong[] = {"--number=0",  "--number=21", "--number=",   "--number=x",
                                        "--number=-1", "--number=1x", "--number= 1", "--number=99999999999999999999"};
    struct settings settings;
    assert_int_equal(PARSE(&settings, 0, "--number=20", "--choice=second"), 3);
    assert_int_equal(settings.number, 20);
    assert_int_equal(settings.choice, 8);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_contains(refused(0, wrong[i]), "' is not a number of things from 1 to 20");
    assert_contains(refused(0, "--choice=secnd"), "--choice: 'secnd' is not valid: did you mean 'second'?");
    assert_contains(refused(0, "--choice="), "--choice: '' is not valid: use first, second");
}

UNIT_TEST(a_value_that_is_refused_ends_the_parsing)
{
    struct settings settings;
    assert_int_equal(PARSE(&settings, 0, "--call=bad", "--flag"), OPTIONS_ERROR);
    assert_false(settings.flag);
}

UNIT_TEST(help_shows_every_option)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    options_help(&command, out);
    fclose(out);
    assert_contains(text, "usage: gputrace test [options] FILE...\n");
    assert_contains(text, "\n  -f, --flag                set it\n");
    assert_contains(text, "\n  -t, --text=TEXT           store it\n                            for later\n");
    assert_contains(text, "\n      --call=VALUE          call it\n");
    assert_contains(text, "\n  -h, --help                print this help\n");
    free(text);
}

/* --- */

UNIT_TEST(a_number_is_of_seconds_unless_a_unit_follows)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } cases[] = {
        {"0", 0},           {"2", 2000000000}, {"0.25", 250000000},    {"1.5s", 1500000000}, {"300ms", 300000000},
        {"20.5us", 20500},  {"7ns", 7},        {"1e3", 1000000000000}, {"0.0000000004", 0},  {"1 s", 1000000000},
        {"200 us", 200000}, {"3µs", 3000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t ns = 1;
        assert_int_equal(duration_parse("delay", cases[i].text, &ns), 0);
        assert_int_equal(ns, cases[i].ns);
    }
}

UNIT_TEST(what_is_no_time_is_refused)
{
    static const char *const cases[] = {"",     "s",  "ms",   "soon",   "-1",  "-1ms",  "nan", "inf",
                                        "1e30", "1h", "1sec", "1e20ns", "2s ", "2 MiB", "5%"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t ns = 1;
        unit_stderr_begin();
        assert_int_equal(duration_parse("snapshot", cases[i], &ns), -1);
        assert_contains(unit_stderr_end(), "gputrace: --snapshot: '");
        assert_int_equal(ns, 1);
    }
}

UNIT_MAIN(NULL, NULL)
