/*
 * How a report looks for who reads it: a person at a terminal, a person with a file, or a program.
 */
#ifndef GPUTRACE_CLI_REPORT_STYLE_H
#define GPUTRACE_CLI_REPORT_STYLE_H

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

#endif
