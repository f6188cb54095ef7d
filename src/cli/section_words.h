/* Reads the words of -r: sections of a report, each with its parts. */
#ifndef GPUTRACE_CLI_SECTION_WORDS_H
#define GPUTRACE_CLI_SECTION_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

extern const struct option_choice section_words[]; /* ends with NULL */
/* Writes the words of sections that `gputrace diff` compares, "findings, time", into the SIZE bytes of TEXT. */
void section_words_compared(char *text, size_t size);

/*
 * Sets SECTIONS to those that VALUE names, separated by commas: REPORT_BIT() each; or ALL, and SECTIONS to 0. COMPARED:
 * VALUE may name only sections that `gputrace diff` compares. The word "list" prints what each section answers.
 * Returns 0, OPTIONS_HELP after that, or OPTIONS_ERROR after error().
 */
int section_words_take(const char *value, bool compared, uint64_t *sections, bool *all);

#endif
