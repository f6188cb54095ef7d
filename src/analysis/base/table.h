/* The result of a section: rows of cells under described columns. Each format has a renderer that writes tables. */
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
    COLUMN_BAD = 32,     /* values other than 0 mean that something went wrong */
    COLUMN_TAG = 64,     /* in paragraphs: at the right end of the line */
    COLUMN_APART = 8,    /* times have a unit of their own; all other columns share one */
};

struct report_row; /* section.h */

struct column {
    const char *word;  /* for --sort, csv and json: lower case, '_' for blanks */
    const char *title; /* for people */
    enum column_type type;
    unsigned flags;
    /* Returns the cell of a row for section_row(), from a field of the row's key or item. NULL: the section fills
     * it. */
    struct cell (*fill)(struct report_row *row, const struct column *column);
    bool of_key;
    size_t at, size; /* of the field, in bytes */
    size_t per;      /* offset of the divisor in the item, for fill_quotient() and fill_percent() */
    uint64_t source; /* a bit of enum trace_bits: if --trace left it out, the cells are CELL_UNRECORDED */
    /* 1 to 100: if lines are too narrow, the least important columns are left out. 0: the column's type and position
     * decide (grid.c). */
    unsigned char importance;
};

enum cell_kind {
    CELL_NONE,
    CELL_INTEGER,
    CELL_REAL,
    CELL_TEXT,
    CELL_UNRECORDED, /* --trace left the value out; csv and json show an empty value, as for CELL_NONE */
};

struct cell {
    enum cell_kind kind;
    enum column_type type; /* of a cell in a column of TYPE_ANY */
    bool bad;              /* something went wrong */
    union {
        int64_t integer;
        double real;
        uint32_t text; /* number in table.texts */
    };
};

#define TABLE_MISSING 128 /* for all words of --trace */

struct table {
    const char *word, *title; /* of the section */
    const struct column *columns;
    size_t column_count;
    ARRAY(struct cell) cells; /* row after row */
    size_t rows;
    size_t *view; /* indices of the columns that the user chose, in the user's order; see table_choose() */
    size_t view_count;
    bool chosen;   /* `view` is used; else all columns are shown in their order */
    size_t *order; /* indices of the rows in the order in which they are shown; set by table_sort() */
    size_t shown;  /* the number of rows of `order` that are shown */
    bool listing;  /* rows are facts in a fixed order, not data: never sorted, cut or summed */
    bool part;     /* it is a PART of REPORT_SECTIONS whose main section is shown, too */
    bool headed;   /* a listing that has column heads */
    /* A listing whose rows are paragraphs: a line for each column, or two lines if the first column has a newline. */
    bool paragraphs;
    const char *none;            /* the text that is shown if there are no rows; NULL: a default text */
    bool unrecorded;             /* --trace left out a source of the section: there are no rows, see `missing` */
    char missing[TABLE_MISSING]; /* words of --trace that were not recorded: "kernel, memset"; "": none */
    bool no_memory;              /* sticky */
    int64_t whole;               /* the sum that shares refer to */
    struct interner texts;
};

void table_release(struct table *table);

/* Adds a row of empty cells. The pointer is valid until the next row is added. Without memory, sets table.no_memory and
 * returns NULL. */
struct cell *table_row(struct table *table);

/* These return cells. The cell of FIELD_ABSENT is empty. */
struct cell cell_integer(int64_t value);
struct cell cell_real(double value);
/* The cell has PART as a percentage of WHOLE. */
struct cell cell_share(int64_t part, int64_t whole);
/* Returns the number in CELL. */
static inline double cell_value(const struct cell *cell)
{
    return cell->kind == CELL_INTEGER ? (double)cell->integer : cell->real;
}
struct cell table_text(struct table *table, const char *text);
struct cell table_format(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct buffer;
/* Returns a cell with the text of BUFFER, which must be a buffer in memory. Releases BUFFER. */
struct cell table_text_from_buffer(struct table *table, struct buffer *buffer);

/* Returns the index of the column called WORD (its word, or its key in json), or -1. */
int table_find_column(const struct column *columns, size_t count, const char *word);

/* Shows only the columns whose words are in CHOICE, such as "name,total", in that order. "all" selects all columns;
 * NULL changes nothing. Returns 0, or -1: no memory. */
int table_choose(struct table *table, const char *choice);
/* table_view_count() returns the number of columns that are shown, and table_view() the index of shown column SHOWN. */
static inline size_t table_view_count(const struct table *table)
{
    return table->chosen ? table->view_count : table->column_count;
}
static inline size_t table_view(const struct table *table, size_t shown)
{
    return table->chosen ? table->view[shown] : shown;
}

/* Sorts the rows by COLUMN, numbers in falling and texts in rising order, and shows the first TOP rows (0: all). If
 * COLUMN is -1, keeps the order of the rows. Returns 0, or -1: no memory. */
int table_sort(struct table *table, int column, size_t top);

/* Returns the cell of shown row SHOWN. */
const struct cell *table_cell(const struct table *table, size_t shown, size_t column);
const char *table_cell_text(const struct table *table, const struct cell *cell);

/* Returns the sum of a column over all rows. */
struct cell table_sum(const struct table *table, size_t column);

/* Whether no row has a value in the column. */
bool table_column_empty(const struct table *table, size_t column);

/*
 * How numbers are written, and in which unit. All times of a table have one unit, which keeps the digits of the
 * smallest time. Each size has its own unit, because sizes may differ by orders of magnitude.
 */

struct unit {
    const char *name; /* "ms", "MiB"; "": none */
    const char *word; /* its name in keys of csv: lower case ASCII, "us" for microseconds */
    double size;      /* in ns or bytes */
    int decimals;
};

/* Returns the unit of a VALUE that is not in a column. */
struct unit unit_of_value(enum column_type type, double value, enum report_unit time);

/* Returns the unit of a column. If TIME is a unit that the user chose, the smallest value has four digits. The unit of
 * sizes has no name, because each size has its own. */
struct unit unit_of_column(const struct table *table, size_t column, enum report_unit time);

/* Returns the unit of values in csv and json: ns and bytes, unless TIME is a unit that the user chose. */
struct unit unit_for_machines(enum column_type type, enum report_unit time);

/* Writes the number in CELL without its unit. If UNIT is the nameless unit of sizes, writes the size's own unit,
 * too. */
void unit_write(struct buffer *buffer, const struct cell *cell, enum column_type type, const struct unit *unit);

#endif
