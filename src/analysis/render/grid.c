/*
 * Writes the texts of all cells column by column, with numbers aligned and units included, then measures the columns.
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

/* --- cells: exact, or with the digits that matter --- */

/* Writes a cell unless it is a number. Returns false if it is a number. */
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
    bool words = write_words(grid, row, column, cell);
    if (!words && type == TYPE_ANY) {
        struct unit own = unit_of_value(cell->type, cell_value(cell), grid->render->options->unit);
        bool suited = grid->suited && cell->type != TYPE_PERCENT &&
                      (cell->type != TYPE_NS || grid->render->options->unit == REPORT_UNIT_AUTO);
        struct value_text value = value_text_of(cell, cell->type, 0, grid->render->options->ascii);
        if (suited)
            buffer_text(&grid->text, value.number);
        else
            unit_write(&grid->text, cell, cell->type, &own);
        const char *name = suited ? value.unit : own.name;
        buffer_format(&grid->text, "%s%s", *name ? " " : "", name);
    } else if (cell->kind == CELL_INTEGER || cell->kind == CELL_REAL)
        unit_write(&grid->text, cell, type, unit);
    end_cell(grid, row, column, start);
}

/* --- columns --- */

/* Returns the cell of a column in ROW, which is not the head. After the rows shown, computes the sum of the column into
 * *SUM and returns SUM. */
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

/* Writes a column of numbers aligned to the right, followed by units aligned to the left. */
static void write_suited(struct grid *grid, size_t column)
{
    const struct column *shown = grid_column_of(grid, column);
    size_t widest = 0, widest_unit = 0;
    struct cell sum;
    for (size_t row = GRID_FIRST_ROW; row < grid_row_count(grid); row++) {
        const struct cell *cell = column_cell(grid, row, column, &sum);
        struct value_text value = is_number(cell)
                                      ? value_text_of(cell, shown->type, shown->flags, grid->render->options->ascii)
                                      : (struct value_text){.unit = ""};
        size_t width = strlen(value.number), unit_width = render_width(value.unit, strlen(value.unit));
        widest = width > widest ? width : widest;
        widest_unit = unit_width > widest_unit ? unit_width : widest_unit;
    }
    for (size_t row = GRID_FIRST_ROW; row < grid_row_count(grid); row++) {
        const struct cell *cell = column_cell(grid, row, column, &sum);
        size_t start = grid->text.length;
        if (!write_words(grid, row, column, cell)) {
            struct value_text value = value_text_of(cell, shown->type, shown->flags, grid->render->options->ascii);
            buffer_format(&grid->text, "%*s", (int)(widest - strlen(value.number)), "");
            buffer_format(&grid->text, "%s%s%s", value.number, widest_unit > 0 ? " " : "", value.unit);
            buffer_format(&grid->text, "%*s", (int)(widest_unit - render_width(value.unit, strlen(value.unit))), "");
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
    /* Mark values that mean that something went wrong; they are shown in red. */
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
            if (grid_cell(grid, row, column)->width > grid->column[column].width)
                grid->column[column].width = grid_cell(grid, row, column)->width;
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

/* --- the width of a terminal --- */

#define IMPORTANCE_OF_BAR 45 /* a bar stays if a less important column can be left out */
#define NARROWEST 16         /* no text is cut shorter than this */

/* Returns how important a column is if not all columns fit: its own number if it has one, or a number by its type and
 * place. */
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
    if (shown->flags & COLUMN_BAD) {
        importance = 25;
        for (size_t row = GRID_FIRST_ROW; row <= grid->rows; row++)
            importance = grid_cell(grid, row, column)->bad ? 90 : importance;
    }
    if (column + 1 == grid->columns && grid->column[column].left)
        importance = 100; /* the row is about the first column */
    return importance;
}

/* How wide texts should be: LEAST is the width that they always keep, WANTED the width for which unimportant columns
 * are left out. The last column, which names what the row is about, gets more. */
enum { LEAST, WANTED };

static size_t text_width(const struct grid *grid, size_t column, size_t width, int how)
{
    const struct grid_column *shown = &grid->column[column];
    bool last = column + 1 == grid->columns;
    size_t most = how == WANTED ? (last ? width / 2 : width / 4) : last ? width * 2 / 5 : NARROWEST;
    most = most < NARROWEST ? NARROWEST : most;
    return shown->left && shown->width > most ? most : shown->width;
}

static size_t needed(const struct grid *grid, size_t width, int how)
{
    size_t needed = GRID_INDENT;
    for (size_t column = 0; column < grid->columns; column++)
        needed += (column > 0 ? GRID_GAP : 0) + text_width(grid, column, width, how) +
                  (grid->column[column].bar ? 1 + GRID_BAR : 0u);
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

/* Leaves out columns. Unimportant columns and the bar are left out until texts have the wanted width, other columns
 * until texts have their least width. */
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

/* Shortens texts that are the last of their row, which may be as wide as the rest of the line. */
static int shorten_ends(struct grid *grid, size_t width)
{
    for (size_t row = GRID_FIRST_ROW; row <= grid->rows; row++) {
        size_t last = grid_last(grid, row), start = GRID_INDENT;
        for (size_t column = 0; column < last; column++)
            start += grid->column[column].width + (grid->column[column].bar ? 1 + GRID_BAR : 0u) + GRID_GAP;
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
        /* Distribute the rest of the width over the text columns, one character at a time. */
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
