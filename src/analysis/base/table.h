/*
 * A section's result: rows of cells under described columns. Sections fill tables, and a renderer per format writes
 * them; neither knows the other.
 */
#ifndef GPUTRACE_ANALYSIS_BASE_TABLE_H
#define GPUTRACE_ANALYSIS_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/base/options.h"

/*      type      unit in csv headers and json keys */
#define COLUMN_TYPES(X)   \
    X(TEXT, "")           \
    X(COUNT, "")          \
    X(NUMBER, "")         \
    X(MEAN, "")           \
    X(NS, "ns")           \
    X(BYTES, "bytes")     \
    X(PERCENT, "percent") \
    X(RATE, "gb_s")       \
    X(ANY, "")

enum column_type {
#define TYPE(name, unit) TYPE_##name,
    COLUMN_TYPES(TYPE)
#undef TYPE
};

enum column_flags {
    COLUMN_PLAIN = 0,
    COLUMN_SUM = 1,      /* the last line of a table for people shows the sum of all rows */
    COLUMN_OPTIONAL = 2, /* left out of tables for people when no row has a value in it */
    COLUMN_MACHINE = 4,  /* in csv and json only */
    COLUMN_MOMENT = 16,  /* points in time, with more digits than other times */
    COLUMN_BAD = 32,     /* what is in it, other than 0, says that something went wrong */
    COLUMN_TAG = 64,     /* in paragraphs: at the right end of a line */
    COLUMN_APART = 8,    /* times in a unit of their own; those of all other columns are in one, to be compared */
};

struct report_row; /* section.h */

struct column {
    const char *word;  /* for --sort, csv and json: lower case, '_' for blanks */
    const char *title; /* for people */
    enum column_type type;
    unsigned flags;
    /* How section_row() fills a cell of it: from a field of the row's key or item. NULL: the section fills it. */
    struct cell (*fill)(struct report_row *row, const struct column *column);
    bool of_key;
    size_t at, size; /* of the field, in bytes */
    uint64_t source; /* a bit of enum trace_bits: the cell is CELL_UNRECORDED where --trace left it out */
    /* Where a line has not enough space for all columns, those of the least importance are left out: 1 to 100; 0: by
     * its kind and place (grid_fit.c). */
    unsigned char importance;
};

enum cell_kind {
    CELL_NONE,
    CELL_INTEGER,
    CELL_REAL,
    CELL_TEXT,
    CELL_UNRECORDED, /* --trace left it out; programs get what they get for CELL_NONE */
};

struct cell {
    enum cell_kind kind;
    enum column_type type; /* of a cell in a column of TYPE_ANY */
    bool bad;              /* it says that something went wrong */
    union {
        int64_t integer;
        double real;
        uint32_t text; /* of table.texts */
    };
};

#define TABLE_MISSING 128 /* for all words of --trace */

struct table {
    const char *word, *title; /* of the section */
    const struct column *columns;
    size_t column_count;
    ARRAY(struct cell) cells; /* row after row */
    size_t rows;
    size_t *view;      /* the columns that the user chose, in that order; see table_choose() */
    size_t view_count; /* of them */
    bool chosen;       /* there is a choice: VIEW is not all columns as they are */
    size_t *order;     /* the rows as they are shown; made by table_sort() */
    size_t shown;      /* of them: the first ones */
    bool listing;      /* rows are facts in a fixed order, not data: never sorted, cut or summed */
    bool part;         /* of a section that is shown, too */
    bool headed;       /* a listing whose columns need their heads all the same */
    /* A listing whose rows are paragraphs: the first column, then each on a line of its own. What comes behind a
     * newline in the first is on a line of its own, too. */
    bool paragraphs;
    const char *none;            /* in place of rows; NULL: the usual */
    bool unrecorded;             /* --trace left out what it is about: it has no rows, and MISSING says what */
    char missing[TABLE_MISSING]; /* what of it was not recorded: "kernel, memset"; "": nothing is missing */
    bool no_memory;              /* sticky */
    int64_t whole;               /* the sum of which shares are written */
    struct interner texts;
};

void table_release(struct table *table);

/* A new row of empty cells, valid until the next one. NULL: no memory, which table.no_memory remembers. */
struct cell *table_row(struct table *table);

/* Cells for a row. That of FIELD_ABSENT is empty. */
struct cell cell_integer(int64_t value);
struct cell cell_real(double value);
/* PART of WHOLE in per cent. */
struct cell cell_share(int64_t part, int64_t whole);
struct cell cell_typed(struct cell cell, enum column_type type);
/* The number in a cell. */
static inline double cell_value(const struct cell *cell)
{
    return cell->kind == CELL_INTEGER ? (double)cell->integer : cell->real;
}
struct cell table_text(struct table *table, const char *text);
struct cell table_format(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct buffer;
/* The text that was written to BUFFER, which is in memory, and is released. */
struct cell table_sink(struct table *table, struct buffer *buffer);

/* The column called WORD (its word, or its key in json); -1: none. */
int table_find_column(const struct column *columns, size_t count, const char *word);

/* Shows the columns whose words are in CHOICE, "name,total", in that order, if there is one; "all" is all columns.
 * NULL: no choice. Returns 0, or -1: no memory. */
int table_choose(struct table *table, const char *choice);
/* The columns that are shown: their number, and the index of number SHOWN. */
static inline size_t table_view_count(const struct table *table)
{
    return table->chosen ? table->view_count : table->column_count;
}
static inline size_t table_view(const struct table *table, size_t shown)
{
    return table->chosen ? table->view[shown] : shown;
}

/* Orders the rows by COLUMN, numbers from the greatest and texts from A, and shows the first TOP (0: all). COLUMN -1:
 * as they came. Returns 0, or -1: no memory. */
int table_sort(struct table *table, int column, size_t top);

/* The cell of the row shown as number SHOWN. */
const struct cell *table_cell(const struct table *table, size_t shown, size_t column);
const char *table_cell_text(const struct table *table, const struct cell *cell);

/* The sum of a COLUMN_SUM column over all rows. */
struct cell table_sum(const struct table *table, size_t column);

/* No row has a value in the column. */
bool table_column_empty(const struct table *table, size_t column);

/*
 * Numbers as they are written, and their units. Times that are to be compared are in one unit, chosen so that no value
 * loses its digits; sizes, which may lie far apart, have one each.
 */

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

/* The number in CELL, of a column in UNIT, without the unit, which sizes in a nameless unit bring with them. */
void unit_write(struct buffer *buffer, const struct cell *cell, enum column_type type, const struct unit *unit);

#endif
