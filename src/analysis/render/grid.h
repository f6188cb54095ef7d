/*
 * A table as texts, ready to be laid out, which the formats for people share.
 */
#ifndef GPUTRACE_ANALYSIS_RENDER_GRID_H
#define GPUTRACE_ANALYSIS_RENDER_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buffer.h"
#include "analysis/render/render.h"
#include "analysis/base/table.h"

#define GRID_HEAD 0
#define GRID_FIRST_ROW 1
#define GRID_INDENT 2
#define GRID_GAP 2
#define GRID_BAR 8 /* characters of a bar beside a share */

struct grid {
    const struct render *render;
    const struct table *table;
    const char *special; /* of render_visible() */
    bool suited;         /* each value has a unit that suits it; else values are exact, in the unit of their column */
    struct buffer text;  /* all cells' texts, one after another */
    size_t columns, rows;
    struct grid_column {
        size_t index; /* in the table */
        bool left;    /* texts; numbers are aligned to the right */
        bool bar;     /* of shares, with a bar of GRID_BAR characters behind them */
        size_t
            width; /* characters of the widest cell that is not the last of its row; in the last column, of any cell */
    } *column;
    struct grid_cell {
        size_t at, length, width;
        bool bad; /* shown in red */
    } *cells;     /* rows + 2 times columns: the head, the rows shown, the sums */
    bool sums;    /* there is a row of sums */
    bool dropped; /* columns were left out to fit */
};

/* Fills GRID with the columns for people of TABLE; texts are escaped by render_visible() with SPECIAL. Returns 0, or
 * -1: no memory. */
int grid_make(struct grid *grid, const struct render *render, const struct table *table, const char *special,
              bool suited);
void grid_release(struct grid *grid);

static inline const struct grid_cell *grid_cell(const struct grid *grid, size_t row, size_t column)
{
    return &grid->cells[row * grid->columns + column];
}
static inline size_t grid_row_count(const struct grid *grid)
{
    return grid->rows + 1 + grid->sums;
}
static inline const struct column *grid_column_of(const struct grid *grid, size_t column)
{
    return &grid->table->columns[grid->column[column].index];
}

/* The last column that has a text in ROW. */
size_t grid_last(const struct grid *grid, size_t row);

struct grid;

/* Leaves out the least important columns and shortens texts, so that lines have WIDTH characters at most. Columns that
 * the user chose stay. Returns 0, or -1: no memory. */
int grid_fit(struct grid *grid, size_t width);

#endif
