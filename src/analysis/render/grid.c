/*
 * Writes the texts of all cells column by column, aligned numbers with units included, then measures the columns.
 */
#include "analysis/render/grid.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/base/value_text.h"

static void end_cell(struct grid *grid, size_t row, size_t column, size_t start)
{
    struct grid_cell *cell = &grid->cells[row * grid->columns + column];
    cell->at = start;
    cell->length = grid->text.length - start;
    cell->width = grid->text.failure ? 0 : render_width(grid->text.data + start, cell->length);
}

static void pad(struct grid *grid, size_t count)
{
    while (count-- > 0)
        buffer_char(&grid->text, ' ');
}

/* --- cells, exact or with the digits that matter --- */

static void write_any(struct grid *grid, const struct cell *cell)
{
    struct unit unit = unit_of_value(cell->type, cell_value(cell), grid->render->options->unit);
    bool own_unit = grid->suited && (cell->type != TYPE_NS || grid->render->options->unit == REPORT_UNIT_AUTO);
    if (own_unit && cell->type != TYPE_PERCENT) {
        struct value_text value = value_text_of(cell, cell->type, 0, grid->render->options->ascii);
        buffer_format(&grid->text, "%s%s%s", value.number, *value.unit ? " " : "", value.unit);
        return;
    }
    unit_write(&grid->text, cell, cell->type, &unit);
    if (*unit.name)
        buffer_format(&grid->text, " %s", unit.name);
}

/* Writes a cell that is not a number. Returns false if it is one. */
static bool write_words(struct grid *grid, size_t row, size_t column, const struct cell *cell)
{
    const struct table *table = grid->table;
    enum column_type type = grid_column_of(grid, column)->type;
    size_t start = grid->text.length;
    if (cell->kind == CELL_TEXT) {
        render_visible(&grid->text, table_cell_text(table, cell), grid->special);
        if (grid->render->options->ascii && !grid->text.failure)
            render_ascii(&grid->text, start);
    } else if (cell->kind == CELL_UNRECORDED)
        buffer_text(&grid->text, "not recorded");
    else if (cell->kind == CELL_NONE && row <= grid->rows && type != TYPE_ANY &&
             (type != TYPE_TEXT || (column > 0 && !table->listing)))
        buffer_char(&grid->text, '-');
    return cell->kind != CELL_INTEGER && cell->kind != CELL_REAL;
}

static void write_exact(struct grid *grid, size_t row, size_t column, const struct cell *cell, const struct unit *unit)
{
    size_t start = grid->text.length;
    enum column_type type = grid_column_of(grid, column)->type;
    if (!write_words(grid, row, column, cell) && type == TYPE_ANY)
        write_any(grid, cell);
    else if (cell->kind == CELL_INTEGER || cell->kind == CELL_REAL)
        unit_write(&grid->text, cell, type, unit);
    end_cell(grid, row, column, start);
}

/* --- columns --- */

/* The cell of a column in ROW below its head; after the rows shown, the sum. */
static const struct cell *column_cell(const struct grid *grid, size_t row, size_t column, struct cell *sum)
{
    size_t index = grid->column[column].index;
    if (row <= grid->rows)
        return table_cell(grid->table, row - GRID_FIRST_ROW, index);
    *sum = grid->table->columns[index].flags & COLUMN_SUM ? table_sum(grid->table, index) : (struct cell){0};
    return sum;
}

static bool is_number(const struct cell *cell)
{
    return cell->kind == CELL_INTEGER || cell->kind == CELL_REAL;
}

static struct value_text number_of(const struct grid *grid, size_t column, const struct cell *cell)
{
    const struct column *shown = grid_column_of(grid, column);
    return value_text_of(cell, shown->type, shown->flags, grid->render->options->ascii);
}

static void widen(size_t *widest, size_t width)
{
    *widest = width > *widest ? width : *widest;
}

/* Writes a column of numbers aligned to the right, followed by units aligned to the left. */
static void write_suited(struct grid *grid, size_t column)
{
    size_t widest = 0, widest_unit = 0;
    struct cell sum;
    for (size_t row = GRID_FIRST_ROW; row < grid_row_count(grid); row++) {
        const struct cell *cell = column_cell(grid, row, column, &sum);
        struct value_text value = is_number(cell) ? number_of(grid, column, cell) : (struct value_text){.unit = ""};
        widen(&widest, strlen(value.number));
        widen(&widest_unit, render_width(value.unit, strlen(value.unit)));
    }
    for (size_t row = GRID_FIRST_ROW; row < grid_row_count(grid); row++) {
        const struct cell *cell = column_cell(grid, row, column, &sum);
        size_t start = grid->text.length;
        if (!write_words(grid, row, column, cell)) {
            struct value_text value = number_of(grid, column, cell);
            pad(grid, widest - strlen(value.number));
            buffer_format(&grid->text, "%s%s%s", value.number, widest_unit > 0 ? " " : "", value.unit);
            pad(grid, widest_unit - render_width(value.unit, strlen(value.unit)));
        }
        end_cell(grid, row, column, start);
    }
}

static void write_column(struct grid *grid, size_t column)
{
    const struct column *shown = grid_column_of(grid, column);
    struct unit unit = unit_of_column(grid->table, grid->column[column].index, grid->render->options->unit);
    bool own = grid->suited && !grid->column[column].left &&
               (shown->type != TYPE_NS || grid->render->options->unit == REPORT_UNIT_AUTO);
    const char *name = own && shown->type != TYPE_PERCENT ? "" : unit.name;
    name = grid->render->options->ascii && strcmp(name, "µs") == 0 ? "us" : name;
    size_t start = grid->text.length;
    buffer_text(&grid->text, shown->title);
    if (*name && !grid->column[column].left)
        buffer_format(&grid->text, name[0] == '%' ? " %s" : " (%s)", name);
    end_cell(grid, GRID_HEAD, column, start);
    if (own)
        write_suited(grid, column);
    struct cell sum;
    for (size_t row = GRID_FIRST_ROW; !own && row < grid_row_count(grid); row++)
        write_exact(grid, row, column, column_cell(grid, row, column, &sum), &unit);
    if (grid->sums && column + 1 == grid->columns && !(shown->flags & COLUMN_SUM)) {
        start = grid->text.length;
        buffer_text(&grid->text, "total");
        end_cell(grid, grid->rows + 1, column, start);
    }
    /* Values that mean that something went wrong are red. */
    bool column_bad = shown->flags & COLUMN_BAD;
    for (size_t row = GRID_FIRST_ROW; row < grid_row_count(grid); row++) {
        const struct cell *cell = column_cell(grid, row, column, &sum);
        bool something = cell->kind == CELL_TEXT || (is_number(cell) && cell_value(cell) != 0);
        grid->cells[row * grid->columns + column].bad = cell->bad || (column_bad && something);
    }
}

size_t grid_last(const struct grid *grid, size_t row)
{
    size_t last = grid->columns - 1;
    while (last > 0 && grid_cell(grid, row, last)->width == 0)
        last--;
    return last;
}

int grid_make(struct grid *grid, const struct render *render, const struct table *table, const char *special,
              bool suited)
{
    *grid = (struct grid){.render = render, .table = table, .special = special, .rows = table->shown, .suited = suited};
    buffer_init_memory(&grid->text);
    grid->column = calloc(table_view_count(table) + 1, sizeof(*grid->column));
    if (!grid->column)
        return -1;
    bool sums = false, bars = grid->suited && grid->render->options->bars && !table->listing;
    for (size_t i = 0; i < table_view_count(table); i++) {
        size_t index = table_view(table, i);
        const struct column *column = &table->columns[index];
        bool optional = (column->flags & COLUMN_OPTIONAL) && table_column_empty(table, index);
        if (!table->chosen && ((column->flags & COLUMN_MACHINE) || optional))
            continue;
        bool share = column->type == TYPE_PERCENT && column->flags & COLUMN_SUM;
        bool left = column->type == TYPE_TEXT || column->type == TYPE_ANY;
        grid->column[grid->columns++] = (struct grid_column){.index = index, .left = left, .bar = bars && share};
        bars &= !share; /* only one column has bars */
        sums |= column->flags & COLUMN_SUM;
    }
    grid->sums = sums && table->rows > 1 && !table->listing && !grid->render->options->usual;
    grid->cells = calloc((table->shown + 2) * (grid->columns + 1), sizeof(*grid->cells));
    if (!grid->cells)
        return -1;
    for (size_t column = 0; column < grid->columns; column++)
        write_column(grid, column);
    /* The last text of a row may be wider than its column. */
    for (size_t row = 0; row < grid_row_count(grid); row++) {
        size_t last = grid_last(grid, row);
        if (last + 1 < grid->columns && grid->column[last].left && row > GRID_HEAD && last > 0)
            last--;
        for (size_t column = 0; column <= last; column++)
            widen(&grid->column[column].width, grid_cell(grid, row, column)->width);
    }
    return grid->text.failure ? -1 : 0;
}

void grid_release(struct grid *grid)
{
    buffer_release(&grid->text);
    free(grid->column);
    free(grid->cells);
    *grid = (struct grid){0};
}
