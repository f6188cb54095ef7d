/*
 * Leaves out columns of little importance until texts have the width that they want, then shortens texts.
 */
#include "analysis/render/grid_fit.h"

#include "analysis/render/grid.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/base/value_text.h"

#define IMPORTANCE_OF_BAR 45 /* less important columns are left out before a bar */
#define NARROWEST 16         /* no text is cut shorter than this */

static bool has_bad(const struct grid *grid, size_t column)
{
    bool bad = false;
    for (size_t row = GRID_FIRST_ROW; row <= grid->rows; row++)
        bad |= grid_cell(grid, row, column)->bad;
    return bad;
}

/* How important a column is if not all fit: its own number, or by its kind and place. */
static unsigned importance_of(const struct grid *grid, size_t column)
{
    static const unsigned by_type[] = {[TYPE_TEXT] = 65,  [TYPE_COUNT] = 55,   [TYPE_NUMBER] = 58, [TYPE_NS] = 45,
                                       [TYPE_BYTES] = 60, [TYPE_PERCENT] = 85, [TYPE_RATE] = 57,   [TYPE_ANY] = 95};
    const struct column *shown = grid_column_of(grid, column);
    if (shown->importance)
        return shown->importance;
    unsigned importance = by_type[shown->type];
    if (shown->type != TYPE_TEXT && shown->type != TYPE_PERCENT)
        importance += (shown->flags & COLUMN_SUM ? 20u : 0) + (shown->flags & COLUMN_APART ? 35u : 0);
    if (shown->of_key)
        importance = 88; /* the column distinguishes the rows */
    if (shown->flags & COLUMN_BAD)
        importance = has_bad(grid, column) ? 90 : 25;
    if (column + 1 == grid->columns && grid->column[column].left)
        importance = 100; /* the row is about the first column */
    return importance;
}

/* How wide texts are to be: as much as they keep at least, or as much as is worth leaving out columns of little
 * importance. The last column, what the row is about, gets more. */
enum { LEAST, WANTED };

static size_t text_width(const struct grid *grid, size_t column, size_t width, int how)
{
    const struct grid_column *shown = &grid->column[column];
    bool last = column + 1 == grid->columns;
    size_t most = how == WANTED ? (last ? width / 2 : width / 4) : last ? width * 2 / 5 : NARROWEST;
    most = most < NARROWEST ? NARROWEST : most;
    return shown->left && shown->width > most ? most : shown->width;
}

static size_t bar_width(const struct grid_column *column)
{
    return column->bar ? 1 + GRID_BAR : 0;
}

static size_t needed(const struct grid *grid, size_t width, int how)
{
    size_t needed = GRID_INDENT;
    for (size_t column = 0; column < grid->columns; column++)
        needed += (column > 0 ? GRID_GAP : 0) + text_width(grid, column, width, how) + bar_width(&grid->column[column]);
    return needed;
}

static void drop(struct grid *grid, size_t dropped)
{
    size_t columns = grid->columns - 1;
    for (size_t row = 0; row < grid_row_count(grid); row++)
        for (size_t column = 0; column < columns; column++)
            grid->cells[row * columns + column] = grid->cells[row * grid->columns + column + (column >= dropped)];
    memmove(&grid->column[dropped], &grid->column[dropped + 1], (columns - dropped) * sizeof(*grid->column));
    grid->columns = columns;
    grid->dropped = true;
}

static bool drop_bar(struct grid *grid)
{
    bool any = false;
    for (size_t column = 0; column < grid->columns; column++) {
        any |= grid->column[column].bar;
        grid->column[column].bar = false;
    }
    return any;
}

static size_t least_important(const struct grid *grid)
{
    size_t least = 0;
    for (size_t column = 1; column < grid->columns; column++)
        if (importance_of(grid, column) <= importance_of(grid, least))
            least = column;
    return least;
}

/* Leaves out columns: those of little importance, and the bar, until texts have the width they want; others, until
 * texts have their least width. */
static void drop_columns(struct grid *grid, size_t width)
{
    bool may = !grid->table->chosen && (!grid->table->listing || grid->table->headed);
    while (may && grid->columns > 2 && needed(grid, width, WANTED) > width) {
        size_t least = least_important(grid);
        if (importance_of(grid, least) >= IMPORTANCE_OF_BAR)
            break;
        drop(grid, least);
    }
    while (needed(grid, width, LEAST) > width) {
        if (drop_bar(grid))
            continue;
        if (!may || grid->columns <= 2)
            break;
        drop(grid, least_important(grid));
    }
    if (needed(grid, width, WANTED) > width)
        drop_bar(grid);
}

static void replace(struct grid *grid, size_t row, size_t column, const char *text)
{
    struct grid_cell *cell = &grid->cells[row * grid->columns + column];
    cell->at = grid->text.length;
    cell->length = strlen(text);
    cell->width = render_width(text, cell->length);
    buffer_bytes(&grid->text, text, cell->length);
}

static int shorten_column(struct grid *grid, size_t column, size_t width)
{
    bool ascii = grid->render->options->ascii;
    struct shorten_text *texts = calloc(grid->rows + 1, sizeof(*texts));
    for (size_t row = 0; texts && row < grid->rows; row++) {
        const struct grid_cell *cell = grid_cell(grid, GRID_FIRST_ROW + row, column);
        texts[row] = (struct shorten_text){grid->text.data + cell->at, cell->length, cell->width, NULL};
    }
    int status = texts ? shorten_all(texts, grid->rows, width, ascii) : -1;
    for (size_t row = 0; texts && row < grid->rows; row++) {
        if (texts[row].shortened && status == 0)
            replace(grid, GRID_FIRST_ROW + row, column, texts[row].shortened);
        free(texts[row].shortened);
    }
    free(texts);
    grid->column[column].width = grid->column[column].width > width ? width : grid->column[column].width;
    return status;
}

/* A text that is last in its row may be as wide as the rest of the line. */
static int shorten_ends(struct grid *grid, size_t width)
{
    for (size_t row = GRID_FIRST_ROW; row <= grid->rows; row++) {
        size_t last = grid_last(grid, row), start = GRID_INDENT;
        for (size_t column = 0; column < last; column++)
            start += grid->column[column].width + bar_width(&grid->column[column]) + GRID_GAP;
        const struct grid_cell *cell = grid_cell(grid, row, last);
        size_t rest = width > start + NARROWEST ? width - start : NARROWEST;
        if (!grid->column[last].left || cell->width <= rest)
            continue;
        struct shorten_text text = {grid->text.data + cell->at, cell->length, cell->width, NULL};
        if (shorten_all(&text, 1, rest, grid->render->options->ascii) < 0)
            return -1;
        replace(grid, row, last, text.shortened);
        free(text.shortened);
    }
    return 0;
}

int grid_fit(struct grid *grid, size_t width)
{
    drop_columns(grid, width);
    size_t *widths = calloc(grid->columns + 1, sizeof(*widths));
    int status = widths ? 0 : -1;
    if (widths) {
        /* What is left of the width goes to the texts, in turn. */
        size_t used = needed(grid, width, LEAST), left = width > used ? width - used : 0;
        for (size_t column = 0; column < grid->columns; column++)
            widths[column] = text_width(grid, column, width, LEAST);
        for (bool given = true; given && left > 0;) {
            given = false;
            for (size_t column = 0; column < grid->columns && left > 0; column++) {
                if (widths[column] == grid->column[column].width)
                    continue;
                widths[column]++;
                left--;
                given = true;
            }
        }
    }
    for (size_t column = 0; column < grid->columns && status == 0; column++)
        if (grid->column[column].left && grid->column[column].width > widths[column])
            status = shorten_column(grid, column, widths[column]);
    free(widths);
    return status < 0 ? -1 : shorten_ends(grid, width);
}
