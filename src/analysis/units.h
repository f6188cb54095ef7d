/*
 * Numbers as they are written, and their units. Times that are to be compared are in one unit, chosen so that no value
 * loses its digits; sizes, which may lie far apart, have one each.
 */
#ifndef GPUTRACE_ANALYSIS_UNITS_H
#define GPUTRACE_ANALYSIS_UNITS_H

#include "analysis/options.h"
#include "analysis/table.h"

struct unit {
    const char *name; /* "ms", "MiB"; "": none */
    const char *word; /* the same for keys of csv: lower case ASCII, "us" for microseconds */
    double size;      /* in ns or bytes */
    int decimals;
};

/* The unit of one VALUE that stands alone. */
struct unit unit_of_value(enum column_type type, double value, enum report_unit time);

/* The unit of a column. In one that the user chose, the smallest value has four digits. Sizes have one for each value
 * instead: theirs is nameless. */
struct unit unit_of_column(const struct table *table, size_t column, enum report_unit time);

/* The unit that values go to programs in: ns and bytes, unless the user chose another unit of time. */
struct unit unit_for_machines(enum column_type type, enum report_unit time);

struct sink;
/* The number in CELL, of a column in UNIT, without the unit, which sizes in a nameless unit bring with them. */
void unit_write(struct sink *sink, const struct cell *cell, enum column_type type, const struct unit *unit);

#endif
