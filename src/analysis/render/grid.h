/*
 * A table whose cells are texts, ready to be laid out. The formats for people share it.
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
    const char *special; /* argument of render_visible() */
    bool suited;         /* each value has the unit that suits it; otherwise exact, in the column's unit */
    struct buffer text;  /* all cells' texts, one after another */
    size_t columns, rows;
    struct grid_column {
        size_t index; /* index of the column in the table */
        bool left;    /* aligned to the left, as texts are */
        bool bar;     /* cells are shares, each followed by a bar of GRID_BAR characters */
        size_t width; /* characters of the widest cell; in all but the last column without last cells of rows */
    } *column;
    struct grid_cell {
        size_t at, length, width;
        bool bad; /* shown in red */
    } *cells;     /* (rows + 2) * columns: the head, the rows shown, the sums */
    bool sums;    /* there is a row of sums */
    bool dropped; /* columns were left out to fit */
};

/* Fills GRID with the columns of TABLE that people see. Texts are escaped by render_visible() with SPECIAL. SUITED: see
 * struct grid. Returns 0, or -1: no memory. */
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

/* Returns the last column that has a text in ROW. */
size_t grid_last(const struct grid *grid, size_t row);

struct grid;

/* Leaves out the least important columns and shortens texts, so that lines have WIDTH characters at most. Columns that
 * the user chose stay. Returns 0, or -1: no memory. */
int grid_fit(struct grid *grid, size_t width);

#endif
