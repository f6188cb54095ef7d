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

/* Sets width, colours, bars and characters for a report that is written to FD, a terminal or not: COLOUR is the user's
 * choice. */
void report_style_set(struct report_options *report, int fd, enum colour colour);

/* Sets names, rows and sections that the user did not choose to what suits the format: what matters for people,
 * everything for programs. */
void report_style_choose(struct report_options *report);

#endif
