/* Formats values for people: numbers with three digits and a unit, counts, and texts that are shortened to fit. */
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

/* Formats the number in CELL of a column of TYPE and FLAGS. If ASCII, microseconds are "us". */
struct value_text value_text_of(const struct cell *cell, enum column_type type, unsigned flags, bool ascii);

/* --- texts that are shortened to fit a column and still differ where possible --- */

struct shorten_text {
    const char *text; /* valid UTF-8 */
    size_t length, width;
    char *shortened; /* NUL-terminated, owned by the caller; NULL: the text fits unchanged */
};

/* Shortens the texts that are wider than WIDTH characters (at least 8). An ellipsis, "..." if ASCII, replaces the
 * middle of a text; if different texts would then look alike, the part in which they differ is kept. Returns 0, or -1:
 * no memory. */
int shorten_all(struct shorten_text *texts, size_t count, size_t width, bool ascii);

#endif
