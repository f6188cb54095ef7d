/*
 * What commands that print reports have in common: how a report looks for who reads it (a person at a terminal, a
 * person with a file, or a program), the sections that it has, and where it goes (a page, a file, a pager).
 */
#ifndef GPUTRACE_CLI_REPORT_OUTPUT_H
#define GPUTRACE_CLI_REPORT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/base/options.h"
#include "cli/options.h"

/* The words of --time-unit. */
extern const struct option_choice report_units[];

enum colour { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

/* What the user chose; -1: nothing. */
struct report_style {
    int64_t top, width;
    int names;  /* enum report_names */
    int colour; /* enum colour; it has no -1 */
};
#define REPORT_STYLE {.top = -1, .width = -1, .names = -1}

/* The options of commands that write tables. The settings have a struct report_style `style`. */
extern const struct option_choice report_colours[], report_name_forms[];
#define OPTION_ROWS_STYLE(settings, fields, column_words)                                                           \
    {.word = "columns",                                                                                             \
     .argument = "LIST",                                                                                            \
     .help = "show these columns, separated by commas, or all\n(default: those that fit)",                          \
     .type = OPTION_TEXT,                                                                                           \
     .list = column_words,                                                                                          \
     .offset = offsetof(struct settings, fields.columns)},                                                          \
        {.word = "width",                                                                                           \
         .argument = "N",                                                                                           \
         .help = "fit tables into lines of N characters, 0 for any length\n(default: the terminal's width, 120 in " \
                 "files and pipes)",                                                                                \
         .type = OPTION_NUMBER,                                                                                     \
         .most = INT64_MAX,                                                                                         \
         .unit = "characters: --width=100, or --width=0 for any",                                                   \
         .offset = offsetof(struct settings, style.width)},                                                         \
        {.word = "color",                                                                                           \
         .argument = "WHEN",                                                                                        \
         .help = "use colours and bars: auto (on a terminal), always or never",                                     \
         .type = OPTION_CHOICE,                                                                                     \
         .choices = report_colours,                                                                                 \
         .offset = offsetof(struct settings, style.colour)},                                                        \
        {.word = "time-unit",                                                                                       \
         .letter = 'u',                                                                                             \
         .argument = "UNIT",                                                                                        \
         .help = "auto, ns, us, ms or s (default: auto, which is ns in csv;\njson always has ns)",                  \
         .type = OPTION_CHOICE,                                                                                     \
         .choices = report_units,                                                                                   \
         .offset = offsetof(struct settings, fields.unit)},                                                         \
    {                                                                                                               \
        .word = "names", .argument = "FORM",                                                                        \
        .help = "show kernel names pretty, full, short (without template arguments\n"                               \
                "and parameters) or mangled, where the trace has them\n"                                            \
                "(default: pretty; full in csv and json)",                                                          \
        .type = OPTION_CHOICE, .choices = report_name_forms, .offset = offsetof(struct settings, style.names)       \
    }

/* Sets how a report looks that is written to FD, a terminal or not. What the user did not choose suits the format: what
 * matters for people, everything for programs. */
void report_style_set(struct report_options *report, int fd, const struct report_style *style);

/* --- words of -r: sections, each with its parts --- */

extern const struct option_choice section_words[]; /* ends with NULL */
/* Writes the words of sections that `gputrace diff` compares, "findings, time", into the SIZE bytes of TEXT. */
void section_words_compared(char *text, size_t size);

enum section_choice { SECTIONS_NAMED, SECTIONS_ALL, SECTIONS_LISTED };

/*
 * Sets SECTIONS to those that VALUE names, separated by commas: REPORT_BIT() each; or to 0, and CHOICE, for the words
 * "all" and "list". COMPARED: VALUE may name only sections that `gputrace diff` compares. Returns 0, or OPTIONS_ERROR
 * after error().
 */
int section_words_take(const char *value, bool compared, uint64_t *sections, enum section_choice *choice);

/* Prints what each section answers, or each that is COMPARED. Returns 0, or -1 after error(). */
int section_words_list(bool compared, enum report_format format);

/* --- the pager --- */

/*
 * Output that is longer than the terminal goes through a pager: $GPUTRACE_PAGER, else $PAGER, else less. It is started
 * with the first output, as reading a trace may take long. Where standard output is no terminal, there is none.
 */

/* --no-pager: no pager from now on. */
int pager_take_none(void *context, const char *value);

#define OPTION_ROW_NO_PAGER                                                                         \
    {.word = "no-pager",                                                                            \
     .help = "write to the terminal itself, and not to a pager ($GPUTRACE_PAGER, $PAGER, or less)", \
     .type = OPTION_CALL,                                                                           \
     .take = pager_take_none}

/* --- where a report goes --- */

struct buffer;

/* Checks the name in --html, and that --format does not ask for another format. Returns 0, or -1 after error(). */
int page_file_check(const char *path, bool other_format);

/* Writes what WRITE puts into OUT to PATH, whole or not at all: also if WRITE returns a negative value, or a signal
 * ends the process. PATH NULL: to standard output, through a pager. Progress is shown while TRACES, a word for people,
 * are read. Returns what WRITE returns, or -1 after error(). */
int page_file_write(const char *path, const char *traces, int (*write)(void *context, struct buffer *out),
                    void *context);

#endif
