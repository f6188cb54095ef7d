/* A section's result: rows of cells under described columns. A renderer per format writes them. */
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
    COLUMN_APART = 8,    /* times in a unit of their own; those of all other columns are in one, to be compared */
};

struct report_row; /* section.h */

struct column {
    const char *word;  /* for --sort, csv and json: lower case, '_' for blanks */
    const char *title; /* for people */
    enum column_type type;
    unsigned flags;
    /* Makes a cell of the column for section_row(), from a field of the row's key or item. NULL: the section fills it.
     */
    struct cell (*fill)(struct report_row *row, const struct column *column);
    bool of_key;
    size_t at, size; /* of the field, in bytes */
    size_t per;      /* of the field of the item that it is divided by (fill_quotient(), fill_percent()) */
    uint64_t source; /* a bit of enum trace_bits: the cell is CELL_UNRECORDED where --trace left it out */
    /* 1 to 100: where a line is too narrow, the least important columns are left out. 0: the kind and the place of the
     * column decide (grid.c). */
    unsigned char importance;
};

enum cell_kind {
    CELL_NONE,
    CELL_INTEGER,
    CELL_REAL,
    CELL_TEXT,
    CELL_UNRECORDED, /* --trace left it out; in csv and json it is empty, as CELL_NONE */
};

struct cell {
    enum cell_kind kind;
    enum column_type type; /* of a cell in a column of TYPE_ANY */
    bool bad;              /* something went wrong */
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
    size_t *view; /* the columns that the user chose, in that order; see table_choose() */
    size_t view_count;
    bool chosen;   /* VIEW is used; else all columns are shown in their order */
    size_t *order; /* the rows as they are shown; made by table_sort() */
    size_t shown;  /* so many rows are shown, from the first of ORDER on */
    bool listing;  /* rows are facts in a fixed order, not data: never sorted, cut or summed */
    bool part;     /* its section is shown, too (PART of REPORT_SECTIONS) */
    bool headed;   /* a listing that has column heads nevertheless */
    /* A listing whose rows are paragraphs: a line for each column, two where the first has a newline. */
    bool paragraphs;
    const char *none;            /* text in place of rows; NULL: the usual one */
    bool unrecorded;             /* --trace left out all that it shows: it has no rows, see MISSING */
    char missing[TABLE_MISSING]; /* words of --trace that were not recorded: "kernel, memset"; "": none */
    bool no_memory;              /* sticky */
    int64_t whole;               /* the sum that shares refer to */
    struct interner texts;
};

void table_release(struct table *table);

/* A new row of empty cells, valid until the next one. NULL: no memory, which table.no_memory remembers. */
struct cell *table_row(struct table *table);

/* Cells for a row. The cell of FIELD_ABSENT is empty. */
struct cell cell_integer(int64_t value);
struct cell cell_real(double value);
/* PART of WHOLE in per cent. */
struct cell cell_share(int64_t part, int64_t whole);
/* The number in a cell. */
static inline double cell_value(const struct cell *cell)
{
    return cell->kind == CELL_INTEGER ? (double)cell->integer : cell->real;
}
struct cell table_text(struct table *table, const char *text);
struct cell table_format(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct buffer;
/* Makes a cell of the text in BUFFER, which is in memory, and releases BUFFER. */
struct cell table_text_from_buffer(struct table *table, struct buffer *buffer);

/* The column called WORD (its word, or its key in json); -1: none. */
int table_find_column(const struct column *columns, size_t count, const char *word);

/* Shows only the columns whose words are in CHOICE ("name,total"), in that order; "all" stands for all columns. NULL:
 * there is no choice. Returns 0, or -1: no memory. */
int table_choose(struct table *table, const char *choice);
/* The number of columns that are shown, and the index of the one in place SHOWN. */
static inline size_t table_view_count(const struct table *table)
{
    return table->chosen ? table->view_count : table->column_count;
}
static inline size_t table_view(const struct table *table, size_t shown)
{
    return table->chosen ? table->view[shown] : shown;
}

/* Sorts the rows by COLUMN, numbers in falling and texts in rising order, and shows the first TOP (0: all). COLUMN -1:
 * keeps their order. Returns 0, or -1: no memory. */
int table_sort(struct table *table, int column, size_t top);

/* The cell of the row shown as number SHOWN. */
const struct cell *table_cell(const struct table *table, size_t shown, size_t column);
const char *table_cell_text(const struct table *table, const struct cell *cell);

/* The sum of a COLUMN_SUM column over all rows. */
struct cell table_sum(const struct table *table, size_t column);

/* Whether no row has a value in the column. */
bool table_column_empty(const struct table *table, size_t column);

/*
 * Numbers as they are written, and their units. All times of a table are in one unit, which keeps the digits of the
 * smallest; sizes, which may be far apart, have a unit each.
 */

struct unit {
    const char *name; /* "ms", "MiB"; "": none */
    const char *word; /* the same for keys of csv: lower case ASCII, "us" for microseconds */
    double size;      /* in ns or bytes */
    int decimals;
};

/* The unit of one VALUE that stands alone. */
struct unit unit_of_value(enum column_type type, double value, enum report_unit time);

/* The unit of a column. With a unit that the user chose, the smallest value has four digits. The unit of sizes is
 * nameless: each value has its own. */
struct unit unit_of_column(const struct table *table, size_t column, enum report_unit time);

/* The unit of values in csv and json: ns and bytes, unless the user chose another unit of time. */
struct unit unit_for_machines(enum column_type type, enum report_unit time);

/* Writes the number in CELL without its unit. Sizes in a nameless unit are written with their own unit. */
void unit_write(struct buffer *buffer, const struct cell *cell, enum column_type type, const struct unit *unit);

#endif
