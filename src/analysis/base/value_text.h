/*
 * Numbers as people read them: three digits in a unit that suits each value, and separators in counts.
 */
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

#endif
