/* Reads the words of -r: sections of a report, each with its parts. */
#ifndef GPUTRACE_CLI_SECTION_WORDS_H
#define GPUTRACE_CLI_SECTION_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/base/options.h"
#include "cli/options.h"

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

#endif
