/*
 * A table as texts, ready to be laid out: what the formats for people have in common.
 */
#ifndef GPUTRACE_ANALYSIS_GRID_H
#define GPUTRACE_ANALYSIS_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "common/sink.h"

struct render;
struct table;

struct grid {
    struct sink text; /* all cells' texts, one after another */
    size_t columns, rows;
    struct grid_column {
        size_t index; /* in the table */
        bool left;    /* texts; numbers are aligned to the right */
        size_t width; /* of the widest cell that another one follows, in characters; of the last column, of any */
    } * column;
    struct grid_cell {
        size_t at, length, width;
    } * cells; /* rows + 2 times columns: the head, the rows shown, the sums */
    bool sums; /* the last row is there */
};

#define GRID_HEAD 0
#define GRID_FIRST_ROW 1

/* Fills GRID with the columns for people of TABLE; texts are escaped by render_visible() with SPECIAL. Gives 0, or -1:
 * no memory. */
int grid_make(struct grid *grid, const struct render *render, const struct table *table, const char *special);
void grid_release(struct grid *grid);

static inline const struct grid_cell *grid_cell(const struct grid *grid, size_t row, size_t column)
{
    return &grid->cells[row * grid->columns + column];
}
static inline size_t grid_row_count(const struct grid *grid)
{
    return grid->rows + 1 + grid->sums;
}

/* Shortens the texts of the last column, in their middle, to WIDTH characters. */
void grid_narrow(struct grid *grid, size_t width);

#endif
