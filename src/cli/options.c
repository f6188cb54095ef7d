/* Converts option rows into getopt_long()'s table, stores each value by the type of its row, and prints --help. */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "launch/program.h"
#include "trace/windows.h"

/* getopt_long() returns ROW_BASE plus the index of a row for its long word; ROW_BASE is above all letters. */
#define ROW_BASE 256
#define HELP_COLUMN 28
#define HELP_WIDTH 80 /* longer lines are broken at a space */

struct parser {
    const struct command *command;
    struct option *words; /* for getopt_long(): the rows, --help, and an empty entry */
    char *letters;
    bool *given; /* given[i]: row i was on the command line */
};

static const struct option_row help_row = {.word = "help", .letter = 'h', .help = "print this help"};

/* Returns the next row after ROW: after the command's last row the row of --help, and then NULL. */
static const struct option_row *next_row(const struct option_row *row)
{
    return row == &help_row ? NULL : row[1].word ? row + 1 : &help_row;
}

static int parser_init(struct parser *parser, const struct command *command, bool stop_at_operand)
{
    size_t count = 1, i = 0; /* number of rows, with that of --help */
    while (command->options[count - 1].word)
        count++;
    *parser = (struct parser){.command = command};
    parser->words = calloc(count + 1, sizeof(*parser->words));
    parser->letters = calloc(count + 2, 2);
    parser->given = calloc(count, sizeof(*parser->given));
    if (!parser->words || !parser->letters || !parser->given)
        return error_no_memory("options");
    char *letter = parser->letters;
    if (stop_at_operand)
        *letter++ = '+';
    *letter++ = ':'; /* getopt_long returns ':' for a missing argument */
    for (const struct option_row *row = command->options; row; row = next_row(row), i++) {
        int takes = row->argument ? required_argument : no_argument;
        parser->words[i] = (struct option){.name = row->word, .has_arg = takes, .val = ROW_BASE + (int)i};
        if (!row->letter)
            continue;
        *letter++ = row->letter;
        if (row->argument)
            *letter++ = ':';
    }
    return 0;
}

/* Returns the row for KEY of getopt_long(), a letter or ROW_BASE + index, or NULL. */
static const struct option_row *find_row(const struct command *command, int key)
{
    int number = ROW_BASE;
    for (const struct option_row *row = command->options; row; row = next_row(row))
        if (key == number++ || (row->letter && key == row->letter))
            return row;
    return NULL;
}

const struct option_choice *options_choose(const struct option_choice *choices, const char *option, const char *word,
                                           size_t length)
{
    char list[512] = "";
    struct suggestion nearest = suggestion_for(word, length);
    for (const struct option_choice *choice = choices; choice->word; choice++) {
        if (strlen(choice->word) == length && memcmp(choice->word, word, length) == 0)
            return choice;
        suggestion_consider(&nearest, choice->word);
        text_list_add(list, sizeof(list), choice->word);
    }
    if (nearest.word)
        error("--%s: '%.*s' is not valid: did you mean '%s'? Valid are %s", option, (int)length, word, nearest.word,
              list);
    else
        error("--%s: '%.*s' is not valid: use %s", option, (int)length, word, list);
    return NULL;
}

static int store_number(const struct option_row *row, int64_t *field, const char *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (errno || *value < '0' || *value > '9' || *end || number < row->least || number > row->most)
        return error("--%s: '%s' is not a number of %s", row->word, value, row->unit);
    *field = number;
    return 0;
}

/* Stores milliseconds. A number without a unit counts milliseconds, unlike the seconds of duration_parse(). */
static int store_ms(const struct option_row *row, int64_t *field, const char *value)
{
    uint64_t ns;
    if (value[strspn(value, "0123456789")] == '\0')
        return store_number(row, field, value);
    if (duration_parse(row->word, value, &ns) < 0)
        return -1;
    *field = (int64_t)(ns / NS_PER_MS);
    return *field >= row->least && *field <= row->most
               ? 0
               : error("--%s: '%s' is not a number of %s", row->word, value, row->unit);
}

static int store_bound(const struct option_row *row, struct time_bound *field, const char *value)
{
    uint64_t ns;
    *field = (struct time_bound){.text = value};
    field->is_share = quantity_read(value, &field->percent) == '%';
    if (field->is_share)
        return field->percent <= 100 ? 0 : error("--%s: '%s' is not from 0%% to 100%%", row->word, value);
    if (duration_parse(row->word, value, &ns) < 0)
        return -1;
    field->ns = (int64_t)ns;
    return 0;
}

static int store(const struct option_row *row, void *settings, const char *value)
{
    void *field = (char *)settings + row->offset;
    switch (row->type) {
    case OPTION_FLAG: *(bool *)field = true; return 0;
    case OPTION_TEXT: *(const char **)field = value; return 0;
    case OPTION_WORDS: *(const char **)field = value; return *value ? 0 : error("--%s: no %s", row->word, row->unit);
    case OPTION_TIME: return duration_parse(row->word, value, field);
    case OPTION_MS: return store_ms(row, field, value);
    case OPTION_BOUND: return store_bound(row, field, value);
    case OPTION_SELECT:
        ((struct selected_number *)field)->given = true;
        return store_number(row, &((struct selected_number *)field)->number, value);
    case OPTION_NUMBER: return store_number(row, field, value);
    case OPTION_CHOICE: {
        const struct option_choice *choice = options_choose(row->choices, row->word, value, strlen(value));
        if (!choice)
            return -1;
        *(int *)field = choice->value;
        return 0;
    }
    case OPTION_CALL: return row->take(field, value);
    }
    return -1;
}

static int error_unknown(const struct command *command, const char *given)
{
    const char *word = given + strspn(given, "-");
    size_t length = strcspn(word, "=");
    struct suggestion nearest = suggestion_for(word, length);
    for (const struct option_row *row = command->options; row; row = next_row(row))
        suggestion_consider(&nearest, row->word);
    int shown = (int)(word - given + (ptrdiff_t)length);
    if (nearest.word)
        return error("no option '%.*s' in '%s': did you mean '--%s'?", shown, given, command->name, nearest.word);
    return error("no option '%.*s' in '%s': see 'gputrace %s --help'", shown, given, command->name, command->name);
}

/* Prints why getopt_long() refused the command line: an option is unknown ('?') or lacks its argument (':'). */
static int error_refused(const struct command *command, int what, char **argv)
{
    const struct option_row *row = optopt ? find_row(command, optopt) : NULL;
    if (row && what == ':')
        return error("'--%s' needs an argument: --%s=%s", row->word, row->word, row->argument);
    if (row)
        return error("'--%s' takes no argument", row->word);
    if (optopt > 0 && optopt < ROW_BASE)
        return error("no option '-%c' in '%s': see 'gputrace %s --help'", optopt, command->name, command->name);
    return error_unknown(command, argv[optind - 1]);
}

int options_parse(const struct command *command, void *settings, int argc, char **argv, bool stop_at_operand)
{
    struct parser parser;
    int result = OPTIONS_ERROR;
    if (parser_init(&parser, command, stop_at_operand) < 0)
        goto out;
    optind = 0; /* glibc then forgets an earlier command line */
    opterr = 0;
    for (;;) {
        int key = getopt_long(argc, argv, parser.letters, parser.words, NULL);
        if (key == -1)
            break;
        const struct option_row *row = key == '?' || key == ':' ? NULL : find_row(command, key);
        if (row == &help_row) {
            options_help(command, stdout);
            result = OPTIONS_HELP;
            goto out;
        }
        bool again = row && row->once && parser.given[row - command->options];
        if (again)
            result = error("--%s is given twice%s", row->word,
                           strcmp(row->argument, "LIST") == 0 ? ": separate its words by commas" : "");
        else
            result = row ? store(row, settings, optarg) : error_refused(command, key, argv);
        if (row)
            parser.given[row - command->options] = true;
        if (result < 0)
            goto out;
    }
    result = optind;
out:
    free(parser.words);
    free(parser.letters);
    free(parser.given);
    return result;
}

static void print_row(const struct option_row *row, FILE *out)
{
    char left[80];
    int width =
        snprintf(left, sizeof(left), "  %c%c%s --%s%s%s", row->letter ? '-' : ' ', row->letter ? row->letter : ' ',
                 row->letter ? "," : " ", row->word, row->argument ? "=" : "", row->argument ? row->argument : "");
    fputs(left, out);
    const char *line = row->help;
    if (width + 2 > HELP_COLUMN)
        fprintf(out, "\n%*s", HELP_COLUMN, "");
    else
        fprintf(out, "%*s", HELP_COLUMN - width, "");
    for (size_t length; *line; line += length + (line[length] == '\n' || line[length] == ' ')) {
        length = strcspn(line, "\n");
        if (length > HELP_WIDTH)
            for (length = HELP_WIDTH; line[length] != ' ' && length > 1;)
                length--;
        if (line != row->help)
            fprintf(out, "%*s", HELP_COLUMN, "");
        fprintf(out, "%.*s\n", (int)length, line);
    }
}

void options_help(const struct command *command, FILE *out)
{
    fprintf(out, "usage: gputrace %s [options]%s%s\n\n%s.\n\noptions:\n", command->name, *command->operands ? " " : "",
            command->operands, command->summary);
    for (const struct option_row *row = command->options; row; row = next_row(row))
        print_row(row, out);
    if (command->examples)
        fprintf(out, "\nexamples:\n%s", command->examples);
    fprintf(out, "\nSee gputrace-%s(1).\n", command->name);
}

int options_take_verbose(void *settings, const char *value)
{
    (void)settings;
    (void)value;
    log_set_level(LOG_VERBOSE);
    return 0;
}

void options_set_log_level(bool quiet, bool verbose)
{
    log_set_level(quiet ? LOG_QUIET : verbose ? LOG_VERBOSE : LOG_NORMAL);
}

int options_cupti(void *field, const char *value)
{
    char *path = realpath(value, NULL);
    if (!path)
        return error("--cupti: '%s': %s", value, strerror(errno));
    *(const char **)field = path;
    return library_check(path);
}

#define SECONDS_MAX 1e9 /* thirty years, which do not overflow in ns */

int duration_parse(const char *option, const char *value, uint64_t *ns)
{
    double number;
    char kind = quantity_read(value, &number);
    number *= kind == '1' ? (double)NS_PER_S : 1;
    if ((kind != '1' && kind != 't') || number > SECONDS_MAX * (double)NS_PER_S)
        return error("--%s: '%s' is not a time (try 2, 0.5 or 300ms)", option, value);
    *ns = (uint64_t)llround(number);
    return 0;
}
