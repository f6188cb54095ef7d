/*
 * Rows of the sections that have a `comparable` (section.h), as `gputrace diff` and the report of a job join them.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_COMPARABLE_H
#define GPUTRACE_ANALYSIS_ENGINE_COMPARABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/engine/section.h"

struct buffer;

#define COMPARABLE_KEYS (sizeof(((struct comparable *)0)->keys) / sizeof(char *))

/* Indices of columns of a section; -1: it does not have the column. */
struct comparable_columns {
    int keys[COMPARABLE_KEYS];
    int total, count;
};

struct comparable_columns comparable_columns_of(const struct section *section);
/* The column called WORD, which may be NULL, or -1. */
int comparable_column(const struct section *section, const char *word);

/* The cell of ROW, in the original order of rows; an empty cell if COLUMN is -1. */
const struct cell *comparable_cell(const struct table *table, size_t row, int column);
/* Whether the cell is a number, and the number; 0 if it is not one. */
bool comparable_has_number(const struct table *table, size_t row, int column);
double comparable_number(const struct table *table, size_t row, int column);

/* Appends the values of the key columns, separated by blanks. A number follows its column's title: "GPU 0". */
void comparable_write_name(struct buffer *name, const struct table *table, size_t row,
                           const struct comparable_columns *columns);

#endif
