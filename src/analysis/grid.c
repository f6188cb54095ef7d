#include "analysis/grid.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/render.h"
#include "analysis/table.h"
#include "analysis/units.h"

#define NARROWEST 24 /* no text is cut shorter than this */

static bool is_shown(const struct table *table, size_t column)
{
    unsigned flags = table->columns[column].flags;
    if (flags & COLUMN_MACHINE)
        return false;
    return !(flags & COLUMN_OPTIONAL) || !table_column_empty(table, column);
}

static bool is_left(const struct table *table, size_t column)
{
    return table->columns[column].type == TYPE_TEXT || table->columns[column].type == TYPE_ANY;
}

static void write_any(struct grid *grid, const struct cell *cell, enum report_unit time)
{
    double value = cell->kind == CELL_INTEGER ? (double)cell->integer : cell->real;
    struct unit unit = unit_of_value(cell->type, value, time);
    unit_write(&grid->text, cell, cell->type, &unit);
    if (*unit.name)
        sink_format(&grid->text, " %s", unit.name);
}

static void end_cell(struct grid *grid, size_t row, size_t column, size_t start)
{
    struct grid_cell *cell = &grid->cells[row * grid->columns + column];
    *cell = (struct grid_cell){.at = start, .length = grid->text.length - start};
    cell->width = grid->text.failure ? 0 : render_width(grid->text.data + start, cell->length);
}

/* A text that nothing follows in its row may be wider than its column. */
static void measure(struct grid *grid)
{
    for (size_t row = 0; row < grid_row_count(grid); row++) {
        size_t last = grid->columns - 1;
        while (last > 0 && grid_cell(grid, row, last)->width == 0)
            last--;
        if (last + 1 < grid->columns && grid->column[last].left && row > GRID_HEAD && last > 0)
            last--;
        for (size_t column = 0; column <= last; column++) {
            size_t width = grid_cell(grid, row, column)->width;
            if (width > grid->column[column].width)
                grid->column[column].width = width;
        }
    }
}

static void put_cell(struct grid *grid, const struct render *render, const struct table *table, size_t row,
                     size_t column, const struct cell *cell, const struct unit *unit, const char *special)
{
    size_t start = grid->text.length;
    enum column_type type = table->columns[grid->column[column].index].type;
    if (cell->kind == CELL_TEXT)
        render_visible(&grid->text, table_cell_text(table, cell), special);
    else if (cell->kind == CELL_UNRECORDED)
        sink_text(&grid->text, "not recorded");
    else if (cell->kind != CELL_NONE && type == TYPE_ANY)
        write_any(grid, cell, render->options->unit);
    else if (cell->kind != CELL_NONE)
        unit_write(&grid->text, cell, type, unit);
    else if (row <= grid->rows && type != TYPE_ANY && (type != TYPE_TEXT || (column > 0 && !table->listing)))
        sink_char(&grid->text, '-');
    end_cell(grid, row, column, start);
}

static void put_head(struct grid *grid, const struct table *table, size_t column, const struct unit *unit)
{
    size_t start = grid->text.length;
    sink_text(&grid->text, table->columns[grid->column[column].index].title);
    if (*unit->name && !is_left(table, grid->column[column].index))
        sink_format(&grid->text, unit->name[0] == '%' ? " %s" : " (%s)", unit->name);
    end_cell(grid, GRID_HEAD, column, start);
}

static void put_sum(struct grid *grid, const struct render *render, const struct table *table, size_t column,
                    const struct unit *unit, const char *special)
{
    size_t start = grid->text.length;
    if (table->columns[grid->column[column].index].flags & COLUMN_SUM) {
        struct cell sum = table_sum(table, grid->column[column].index);
        put_cell(grid, render, table, grid->rows + 1, column, &sum, unit, special);
        return;
    }
    if (column + 1 == grid->columns)
        sink_text(&grid->text, "total");
    end_cell(grid, grid->rows + 1, column, start);
}

static void put_column(struct grid *grid, const struct render *render, const struct table *table, size_t column,
                       const char *special)
{
    size_t index = grid->column[column].index;
    struct unit unit = unit_of_column(table, index, render->options->unit);
    put_head(grid, table, column, &unit);
    for (size_t row = 0; row < grid->rows; row++)
        put_cell(grid, render, table, GRID_FIRST_ROW + row, column, table_cell(table, row, index), &unit, special);
    if (grid->sums)
        put_sum(grid, render, table, column, &unit, special);
}

static void choose_columns(struct grid *grid, const struct table *table)
{
    bool sums = false;
    for (size_t i = 0; i < table->column_count; i++) {
        if (!is_shown(table, i))
            continue;
        grid->column[grid->columns++] = (struct grid_column){.index = i, .left = is_left(table, i)};
        sums |= table->columns[i].flags & COLUMN_SUM;
    }
    grid->sums = sums && table->rows > 1;
}

int grid_make(struct grid *grid, const struct render *render, const struct table *table, const char *special)
{
    *grid = (struct grid){.rows = table->shown};
    sink_init_memory(&grid->text);
    grid->column = calloc(table->column_count, sizeof(*grid->column));
    grid->cells = calloc((table->shown + 2) * table->column_count, sizeof(*grid->cells));
    if (!grid->column || !grid->cells)
        return -1;
    choose_columns(grid, table);
    for (size_t column = 0; column < grid->columns; column++)
        put_column(grid, render, table, column, special);
    measure(grid);
    return grid->text.failure ? -1 : 0;
}

void grid_release(struct grid *grid)
{
    sink_release(&grid->text);
    free(grid->column);
    free(grid->cells);
    *grid = (struct grid){0};
}

/* Bytes of the first COUNT characters. */
static size_t bytes_of(const char *text, size_t length, size_t count)
{
    size_t at = 0;
    while (at < length) {
        if (((unsigned char)text[at] & 0xc0) != 0x80 && count-- == 0)
            break;
        at++;
    }
    return at;
}

static void narrow_cell(struct grid *grid, struct grid_cell *cell, size_t width)
{
    static const char mark[] = "…";
    const size_t mark_bytes = sizeof(mark) - 1;
    char *text = grid->text.data + cell->at;
    size_t head = (width - 1) * 2 / 3, tail = width - 1 - head;
    size_t head_end = bytes_of(text, cell->length, head);
    size_t tail_start = bytes_of(text, cell->length, cell->width - tail);
    while (tail_start - head_end < mark_bytes && tail_start < cell->length) /* the mark takes the place of what goes */
        tail_start += bytes_of(text + tail_start, cell->length - tail_start, 1);
    if (tail_start - head_end < mark_bytes)
        return;
    memcpy(text + head_end, mark, mark_bytes);
    memmove(text + head_end + mark_bytes, text + tail_start, cell->length - tail_start);
    cell->length -= tail_start - head_end - mark_bytes;
    cell->width = render_width(text, cell->length);
}

void grid_narrow(struct grid *grid, size_t width)
{
    size_t last = grid->columns - 1;
    if (width < NARROWEST)
        width = NARROWEST;
    for (size_t row = GRID_FIRST_ROW; row <= grid->rows; row++) {
        struct grid_cell *cell = &grid->cells[row * grid->columns + last];
        if (cell->width > width)
            narrow_cell(grid, cell, width);
    }
    if (grid->column[last].width > width)
        grid->column[last].width = width;
}
