/* Values as tables for people have them: numbers with three digits and a unit, counts, and texts that fit. */
#ifndef GPUTRACE_ANALYSIS_BASE_VALUE_TEXT_H
#define GPUTRACE_ANALYSIS_BASE_VALUE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/base/table.h"

#define VALUE_NUMBER_BYTES 48

struct value_text {
    char number[VALUE_NUMBER_BYTES]; /* "12.3", "1,234" */
    const char *unit;                /* "ms", "GiB"; "": none */
};

/* The text of the number in CELL, of a column of TYPE and FLAGS. ASCII: "us" for microseconds. */
struct value_text value_text_of(const struct cell *cell, enum column_type type, unsigned flags, bool ascii);

/* --- texts that are shortened to fit a column, so that two of them stay different where they can --- */

struct shorten_text {
    const char *text; /* valid UTF-8 */
    size_t length, width;
    char *shortened; /* NUL-terminated, owned by the caller; NULL: it fits as it is */
};

/* Shortens those of COUNT texts that are wider than WIDTH (at least 8) characters, with "…" or, in ASCII, "..." in the
 * place of what is left out: their middle, or, where texts would then be alike, all but where they differ. Returns 0,
 * or -1: no memory. */
int shorten_all(struct shorten_text *texts, size_t count, size_t width, bool ascii);

#endif
