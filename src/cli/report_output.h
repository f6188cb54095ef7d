/*
 * Shared by the commands that print reports: the style of a report (for a terminal, a file, or a program), the choice
 * of its sections, and its destination (a page, a file, a pager).
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

/* The user's choices; -1 if there is none. */
struct report_style {
    int64_t top, width;
    int names;  /* enum report_names */
    int colour; /* enum colour; COLOUR_AUTO if there is no choice */
};
#define REPORT_STYLE {.top = -1, .width = -1, .names = -1}

/* The options of commands that write tables. Their settings have a struct report_style `style`; FIELDS is the path of
 * their struct report_options. */
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

/* Sets the style of a report that is written to FD, by the user's choices in STYLE. Defaults depend on the format: the
 * most important rows and columns for people, all of them for programs. */
void report_style_set(struct report_options *report, int fd, const struct report_style *style);

/* --- words of -r: sections and their parts --- */

extern const struct option_choice section_words[]; /* ends with NULL */
/* Writes the words of sections that `gputrace diff` compares, "findings, time", into the SIZE bytes of TEXT. */
void section_words_compared(char *text, size_t size);

enum section_choice { SECTIONS_NAMED, SECTIONS_ALL, SECTIONS_LISTED };

/*
 * Reads the words of VALUE, separated by commas. Sets SECTIONS to the REPORT_BIT()s of the named sections; for the
 * words "all" and "list", sets SECTIONS to 0 and CHOICE. COMPARED: VALUE may name only sections that `gputrace diff`
 * compares. Returns 0, or OPTIONS_ERROR after error().
 */
int section_words_take(const char *value, bool compared, uint64_t *sections, enum section_choice *choice);

/* Prints the question that each section answers; with COMPARED, only of sections that `gputrace diff` compares. Returns
 * 0, or -1 after error(). */
int section_words_list(bool compared, enum report_format format);

/* --- the pager --- */

/*
 * Text for a terminal goes through a pager: $GPUTRACE_PAGER, else $PAGER, else less. The pager is started with the
 * first output, because reading a trace may take long. If standard output is not a terminal, there is no pager.
 */

/* The `take` of --no-pager: from now on no pager is started. */
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

/* Calls WRITE and writes its output to the file PATH. The file appears only if it is complete: neither a negative
 * result of WRITE nor a signal leaves a part of it. If PATH is NULL, writes to standard output, through a pager. Shows
 * progress with TRACES, the name of what is read. Returns the result of WRITE, or -1 after error(). */
int page_file_write(const char *path, const char *traces, int (*write)(void *context, struct buffer *out),
                    void *context);

#endif
