/* The formats for people: aligned text, and Markdown. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/render.h"
#include "analysis/table.h"

/*
 * A table as texts, ready to be laid out: what the formats for people have in common.
 */

struct grid {
    const struct render *render;
    const struct table *table;
    const char *special; /* of render_visible() */
    struct buffer text;  /* all cells' texts, one after another */
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

static const struct grid_cell *grid_cell(const struct grid *grid, size_t row, size_t column)
{
    return &grid->cells[row * grid->columns + column];
}
static size_t grid_row_count(const struct grid *grid)
{
    return grid->rows + 1 + grid->sums;
}

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

static void write_any(struct grid *grid, const struct cell *cell)
{
    struct unit unit = unit_of_value(cell->type, cell_value(cell), grid->render->options->unit);
    unit_write(&grid->text, cell, cell->type, &unit);
    if (*unit.name)
        buffer_format(&grid->text, " %s", unit.name);
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

static void fill_cell(struct grid *grid, size_t row, size_t column, const struct cell *cell, const struct unit *unit)
{
    const struct table *table = grid->table;
    size_t start = grid->text.length;
    enum column_type type = table->columns[grid->column[column].index].type;
    if (cell->kind == CELL_TEXT)
        render_visible(&grid->text, table_cell_text(table, cell), grid->special);
    else if (cell->kind == CELL_UNRECORDED)
        buffer_text(&grid->text, "not recorded");
    else if (cell->kind != CELL_NONE && type == TYPE_ANY)
        write_any(grid, cell);
    else if (cell->kind != CELL_NONE)
        unit_write(&grid->text, cell, type, unit);
    else if (row <= grid->rows && type != TYPE_ANY && (type != TYPE_TEXT || (column > 0 && !table->listing)))
        buffer_char(&grid->text, '-');
    end_cell(grid, row, column, start);
}

static void write_head(struct grid *grid, size_t column, const struct unit *unit)
{
    size_t start = grid->text.length;
    buffer_text(&grid->text, grid->table->columns[grid->column[column].index].title);
    if (*unit->name && !grid->column[column].left)
        buffer_format(&grid->text, unit->name[0] == '%' ? " %s" : " (%s)", unit->name);
    end_cell(grid, GRID_HEAD, column, start);
}

static void write_sum(struct grid *grid, size_t column, const struct unit *unit)
{
    size_t start = grid->text.length, index = grid->column[column].index;
    if (grid->table->columns[index].flags & COLUMN_SUM) {
        struct cell sum = table_sum(grid->table, index);
        fill_cell(grid, grid->rows + 1, column, &sum, unit);
        return;
    }
    if (column + 1 == grid->columns)
        buffer_text(&grid->text, "total");
    end_cell(grid, grid->rows + 1, column, start);
}

static void write_column(struct grid *grid, size_t column)
{
    size_t index = grid->column[column].index;
    struct unit unit = unit_of_column(grid->table, index, grid->render->options->unit);
    write_head(grid, column, &unit);
    for (size_t row = 0; row < grid->rows; row++)
        fill_cell(grid, GRID_FIRST_ROW + row, column, table_cell(grid->table, row, index), &unit);
    if (grid->sums)
        write_sum(grid, column, &unit);
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

/* Fills GRID with the columns for people of TABLE; texts are escaped by render_visible() with SPECIAL. Returns 0, or
 * -1: no memory. */
static int grid_make(struct grid *grid, const struct render *render, const struct table *table, const char *special)
{
    *grid = (struct grid){.render = render, .table = table, .special = special, .rows = table->shown};
    buffer_init_memory(&grid->text);
    grid->column = calloc(table->column_count, sizeof(*grid->column));
    grid->cells = calloc((table->shown + 2) * table->column_count, sizeof(*grid->cells));
    if (!grid->column || !grid->cells)
        return -1;
    choose_columns(grid, table);
    for (size_t column = 0; column < grid->columns; column++)
        write_column(grid, column);
    measure(grid);
    return grid->text.failure ? -1 : 0;
}

static void grid_release(struct grid *grid)
{
    buffer_release(&grid->text);
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

/* Shortens the texts of the last column, in their middle, to WIDTH characters. */
static void grid_narrow(struct grid *grid, size_t width)
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

/* Aligned text for a terminal. */

#define INDENT 2
#define GAP 2

static void repeat(struct buffer *out, char c, size_t count)
{
    while (count-- > 0)
        buffer_char(out, c);
}

static void write_cell(struct buffer *out, const struct grid *grid, size_t row, size_t column, bool last)
{
    const struct grid_cell *cell = grid_cell(grid, row, column);
    size_t blank = cell->width < grid->column[column].width ? grid->column[column].width - cell->width : 0;
    if (!grid->column[column].left)
        repeat(out, ' ', blank);
    buffer_bytes(out, grid->text.data + cell->at, cell->length);
    if (grid->column[column].left && !last)
        repeat(out, ' ', blank);
}

static void write_table_row(struct buffer *out, const struct grid *grid, size_t row)
{
    size_t last = grid->columns - 1; /* blanks at the end of a line help nobody */
    while (last > 0 && grid_cell(grid, row, last)->width == 0)
        last--;
    for (size_t column = 0; column <= last; column++) {
        repeat(out, ' ', column == 0 ? INDENT : GAP);
        write_cell(out, grid, row, column, column == last);
    }
    buffer_char(out, '\n');
}

static void write_rules(struct buffer *out, const struct grid *grid)
{
    for (size_t column = 0; column < grid->columns; column++) {
        repeat(out, ' ', column == 0 ? INDENT : GAP);
        bool last_text = column + 1 == grid->columns && grid->column[column].left;
        repeat(out, '-', last_text ? grid_cell(grid, GRID_HEAD, column)->width : grid->column[column].width);
    }
    buffer_char(out, '\n');
}

static void fit(struct grid *grid, size_t width)
{
    size_t used = INDENT;
    for (size_t column = 0; column + 1 < grid->columns; column++)
        used += grid->column[column].width + GAP;
    grid_narrow(grid, width > used ? width - used : 0);
}

static void write_rest(struct buffer *out, const struct table *table, const char *before)
{
    size_t rest = table->rows - table->shown;
    if (rest > 0)
        buffer_format(out, "%s… and %zu more row%s (--top=0 shows all)\n", before, rest, rest == 1 ? "" : "s");
}

static void write_text_grid(struct buffer *out, struct grid *grid)
{
    const struct table *table = grid->table;
    if (grid->render->options->width && grid->column[grid->columns - 1].left)
        fit(grid, grid->render->options->width);
    if (!table->listing || table->headed) {
        write_table_row(out, grid, GRID_HEAD);
        write_rules(out, grid);
    }
    for (size_t row = 0; row < grid->rows; row++)
        write_table_row(out, grid, GRID_FIRST_ROW + row);
    write_rest(out, table, "  ");
    if (grid->sums) {
        write_rules(out, grid);
        write_table_row(out, grid, grid->rows + 1);
    }
}

/* Tables of GitHub's Markdown. */

/* What Markdown or HTML would take for its own. */
#define SPECIAL "\\`*_[]<>|~&#$"

static void write_markdown_row(struct buffer *out, const struct grid *grid, size_t row)
{
    for (size_t column = 0; column < grid->columns; column++) {
        const struct grid_cell *cell = grid_cell(grid, row, column);
        buffer_text(out, column == 0 ? "| " : " | ");
        buffer_bytes(out, grid->text.data + cell->at, cell->length);
    }
    buffer_text(out, " |\n");
}

static void write_markdown_grid(struct buffer *out, const struct grid *grid)
{
    write_markdown_row(out, grid, GRID_HEAD);
    for (size_t column = 0; column < grid->columns; column++)
        buffer_text(out, grid->column[column].left ? "| :-- " : "| --: ");
    buffer_text(out, "|\n");
    for (size_t row = GRID_FIRST_ROW; row < grid_row_count(grid); row++)
        write_markdown_row(out, grid, row);
    write_rest(out, grid->table, "\n");
}

/* --- both --- */

/* An empty section that was not asked for by name is left out, and named in a line at the end. */
static bool leave_out(struct render *render, const struct table *table)
{
    if (table->rows > 0 || table->none || render->options->sections != 0)
        return false;
    _Static_assert(sizeof(render->left_out) == sizeof(render->unrecorded), "either list");
    char *list = table->unrecorded ? render->unrecorded : render->left_out;
    size_t length = strlen(list), space = sizeof(render->left_out) - length;
    if (table->unrecorded || !*table->missing)
        snprintf(list + length, space, "%s%s", length ? ", " : "", table->word);
    else
        snprintf(list + length, space, "%s%s (not recorded: %s)", length ? ", " : "", table->word, table->missing);
    return true;
}

static void write_grid(struct render *render, const struct table *table, bool markdown)
{
    struct grid grid;
    if (grid_make(&grid, render, table, markdown ? SPECIAL : "") < 0)
        render->out->failure = render->out->failure ? render->out->failure : ENOMEM;
    else if (markdown)
        write_markdown_grid(render->out, &grid);
    else
        write_text_grid(render->out, &grid);
    grid_release(&grid);
}

static void write_table(struct render *render, const struct table *table)
{
    bool markdown = render->format == &renderer_markdown;
    const char *indent = markdown ? "" : "  ", *level = render->several_traces ? "## " : "# ";
    if (leave_out(render, table))
        return;
    buffer_format(render->out, "%s%s%s\n%s", render->any ? "\n" : "", markdown ? level : "", table->title,
                  markdown ? "\n" : "");
    render->any = true;
    if (table->rows > 0 && table->paragraphs)
        render_paragraphs(render, table, markdown);
    else if (table->rows > 0)
        write_grid(render, table, markdown);
    else if (!table->unrecorded)
        buffer_format(render->out, "%s%s\n", indent, table->none ? table->none : "none in this trace");
    if (*table->missing)
        buffer_format(render->out, "%s%snot recorded (left out by --trace): %s\n",
                      markdown && table->rows > 0 ? "\n" : "", indent, table->missing);
}

static void begin_trace(struct render *render, const char *path, const char *missing)
{
    bool markdown = render->format == &renderer_markdown;
    (void)missing;
    if (!render->several_traces)
        return;
    buffer_text(render->out, !render->any ? "" : markdown ? "\n" : "\n\n");
    buffer_text(render->out, markdown ? "# " : "=== ");
    render_visible(render->out, path, markdown ? SPECIAL : "");
    buffer_text(render->out, markdown ? "\n" : " ===\n");
    render->any = true;
}

static void end_trace(struct render *render)
{
    if (*render->left_out)
        buffer_format(render->out, "\nNot in this trace: %s\n", render->left_out);
    if (*render->unrecorded)
        buffer_format(render->out, "\nNot recorded (left out by --trace): %s\n", render->unrecorded);
    *render->left_out = *render->unrecorded = '\0';
}

const struct renderer renderer_table = {.trace_begin = begin_trace, .table = write_table, .trace_end = end_trace};
const struct renderer renderer_markdown = {.trace_begin = begin_trace, .table = write_table, .trace_end = end_trace};
