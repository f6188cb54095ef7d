/* Aligned text for a terminal. */
#include <errno.h>
#include <string.h>

#include "common/sink.h"
#include "analysis/grid.h"
#include "analysis/render.h"
#include "analysis/table.h"

#define INDENT 2
#define GAP 2

static void pad(struct sink *out, size_t count)
{
    while (count-- > 0)
        sink_char(out, ' ');
}

static void rule(struct sink *out, size_t width)
{
    while (width-- > 0)
        sink_char(out, '-');
}

static void write_cell(struct sink *out, const struct grid *grid, size_t row, size_t column, bool last)
{
    const struct grid_cell *cell = grid_cell(grid, row, column);
    size_t blank = cell->width < grid->column[column].width ? grid->column[column].width - cell->width : 0;
    if (!grid->column[column].left)
        pad(out, blank);
    sink_bytes(out, grid->text.data + cell->at, cell->length);
    if (grid->column[column].left && !last)
        pad(out, blank);
}

static void write_row(struct sink *out, const struct grid *grid, size_t row)
{
    size_t last = grid->columns - 1; /* blanks at the end of a line help nobody */
    while (last > 0 && grid_cell(grid, row, last)->width == 0)
        last--;
    for (size_t column = 0; column <= last; column++) {
        pad(out, column == 0 ? INDENT : GAP);
        write_cell(out, grid, row, column, column == last);
    }
    sink_char(out, '\n');
}

static void write_rules(struct sink *out, const struct grid *grid)
{
    for (size_t column = 0; column < grid->columns; column++) {
        pad(out, column == 0 ? INDENT : GAP);
        bool last_text = column + 1 == grid->columns && grid->column[column].left;
        rule(out, last_text ? grid_cell(grid, GRID_HEAD, column)->width : grid->column[column].width);
    }
    sink_char(out, '\n');
}

static void fit(struct grid *grid, size_t width)
{
    size_t used = INDENT;
    for (size_t column = 0; column + 1 < grid->columns; column++)
        used += grid->column[column].width + GAP;
    grid_narrow(grid, width > used ? width - used : 0);
}

static void write_rest(struct render *render, const struct table *table)
{
    size_t rest = table->rows - table->shown;
    if (rest > 0)
        sink_format(render->out, "  … and %zu more row%s (--top=0 shows all)\n", rest, rest == 1 ? "" : "s");
}

static void write_grid(struct render *render, const struct table *table, const struct grid *grid)
{
    struct sink *out = render->out;
    if (!table->listing || table->headed) {
        write_row(out, grid, GRID_HEAD);
        write_rules(out, grid);
    }
    for (size_t row = 0; row < grid->rows; row++)
        write_row(out, grid, GRID_FIRST_ROW + row);
    write_rest(render, table);
    if (grid->sums) {
        write_rules(out, grid);
        write_row(out, grid, grid->rows + 1);
    }
}

static void table(struct render *render, const struct table *table)
{
    struct grid grid;
    if (render_leaves_out(render, table))
        return;
    sink_format(render->out, "%s%s\n", render->any ? "\n" : "", table->title);
    render->any = true;
    if (table->rows == 0) {
        render_missing(render, table, "  ");
        return;
    }
    if (grid_make(&grid, render, table, "") < 0) {
        render->out->failure = render->out->failure ? render->out->failure : ENOMEM;
    } else {
        if (render->options->width && grid.column[grid.columns - 1].left)
            fit(&grid, render->options->width);
        write_grid(render, table, &grid);
        render_missing(render, table, "  ");
    }
    grid_release(&grid);
}

static void trace_begin(struct render *render, const char *path, const char *missing)
{
    (void)missing;
    if (!render->several_traces)
        return;
    sink_text(render->out, render->any ? "\n\n=== " : "=== ");
    render_visible(render->out, path, "");
    sink_text(render->out, " ===\n");
    render->any = true;
}

static void trace_end(struct render *render)
{
    render_left_out(render);
}

const struct renderer renderer_table = {.trace_begin = trace_begin, .table = table, .trace_end = trace_end};
