/*
 * Completes a command line: finds the command and the option that the word belongs to by their rows, and prints the
 * words that may stand there.
 */
#include "cli/complete.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Prints BEFORE and WORD, if WORD begins with TYPED, and the first line of TEXT. */
static void print_match(const char *typed, const char *before, const char *word, const char *text)
{
    if (begins(word, typed))
        printf("%s%s\t%.*s\n", before, word, (int)strcspn(text, "\n"), text);
}

/* TEXT is an argument of ROW; BEFORE stands before it in the same word. */
static void complete_argument(const struct option_row *row, const char *before, const char *text)
{
    const char *comma = begins(row->argument, "LIST") ? strrchr(text, ',') : NULL, *last = comma ? comma + 1 : text;
    bool minus = comma && *last == '-'; /* "all,-sync" takes a word out of the list */
    char head[512];
    snprintf(head, sizeof(head), "%s%.*s", before, (int)(last - text + minus), text);
    for (const struct option_choice *choice = row->choices; choice && choice->word; choice++)
        print_match(last + minus, head, choice->word, "");
    char list[4096];
    if (row->list)
        row->list(list, sizeof(list));
    for (char *rest = row->list ? list : NULL, *word; (word = strsep(&rest, ","));)
        print_match(last + minus, head, word + strspn(word, " "), "");
    if (strcmp(row->argument, "DIR") == 0)
        puts(":folders");
    else if (strcmp(row->argument, "FILE") == 0 || strcmp(row->argument, "TRACE...") == 0)
        puts(":files");
}

static void complete_option(const struct command *command, const char *typed)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const struct option_row *row = &command->options[i];
        char word[64];
        snprintf(word, sizeof(word), "--%s%s", row->word, row->argument ? "=" : "");
        print_match(typed, "", word, row->help);
    }
    print_match(typed, "", "--help", "print this help");
}

/* Returns the row of an option, by the LENGTH bytes at WORD ("--output", "-o"), that takes an argument, or NULL. */
static const struct option_row *find_row(const struct command *command, const char *word, size_t length)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const struct option_row *row = &command->options[i];
        bool is_long = length > 2 && strlen(row->word) == length - 2 && memcmp(word + 2, row->word, length - 2) == 0;
        bool is_short = length == 2 && row->letter && word[1] == row->letter;
        if (*word == '-' && row->argument && (is_long || is_short))
            return row;
    }
    return NULL;
}

/* Returns the index of the program among the COUNT words behind `gputrace run`, or COUNT. */
static int find_program(const struct command *command, int count, char **words)
{
    int i = 0;
    while (i < count && *words[i] == '-' && strcmp(words[i], "--") != 0) {
        bool split = i + 1 < count && strcmp(words[i + 1], "=") == 0;
        i += split ? 3 : find_row(command, words[i], strlen(words[i])) ? 2 : 1;
    }
    if (i < count && strcmp(words[i], "--") == 0)
        i++;
    return i < count ? i : count;
}

static void complete_operand(const struct command *command)
{
    if (command == &command_run)
        puts(":commands");
    else if (command == &command_recover)
        puts(":folders");
    else if (command != &command_doctor)
        puts(":files");
}

/* The COUNT words behind COMMAND's name. */
static void complete_after(const struct command *command, int count, char **words)
{
    int end = count - 1, program = command == &command_run ? find_program(command, end, words) : end;
    const char *typed = words[end], *equals = strchr(typed, '=');
    if (program < end) {
        printf(":program %d\n", count - program);
        return;
    }
    bool starts_value = end > 0 && strcmp(typed, "=") == 0, in_value = end > 1 && strcmp(words[end - 1], "=") == 0;
    const char *option = starts_value ? words[end - 1] : in_value ? words[end - 2] : end > 0 ? words[end - 1] : "";
    const struct option_row *row = find_row(command, option, strlen(option));
    if (row)
        complete_argument(row, "", starts_value ? "" : typed);
    else if (begins(typed, "--") && equals && (row = find_row(command, typed, (size_t)(equals - typed)))) {
        char before[64];
        snprintf(before, sizeof(before), "--%s=", row->word);
        complete_argument(row, before, equals + 1);
    } else if (*typed == '-')
        complete_option(command, typed);
    else
        complete_operand(command);
}

void complete_words(const struct command *const *commands, size_t command_count, int count, char **words)
{
    if (count == 2 && strcmp(words[0], "help") == 0)
        count--, words++;
    else if (count > 1) {
        for (size_t i = 0; i < command_count; i++)
            if (strcmp(commands[i]->name, words[0]) == 0)
                complete_after(commands[i], count - 1, words + 1);
        return;
    }
    const char *typed = count == 1 ? words[0] : "";
    for (size_t i = 0; i < command_count; i++)
        print_match(typed, "", commands[i]->name, commands[i]->summary);
    print_match(typed, "", "help", "Explains a command");
    if (*typed == '-') {
        print_match(typed, "", "--help", "print the commands");
        print_match(typed, "", "--version", "print the version");
    }
}
