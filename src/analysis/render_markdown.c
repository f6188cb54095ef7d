/* Tables of GitHub's Markdown. */
#include <errno.h>
#include <string.h>

#include "common/sink.h"
#include "analysis/grid.h"
#include "analysis/render.h"
#include "analysis/table.h"

/* What Markdown or HTML would take for its own. */
#define SPECIAL "\\`*_[]<>|~&#$"

static void write_row(struct sink *out, const struct grid *grid, size_t row)
{
    for (size_t column = 0; column < grid->columns; column++) {
        const struct grid_cell *cell = grid_cell(grid, row, column);
        sink_text(out, column == 0 ? "| " : " | ");
        sink_bytes(out, grid->text.data + cell->at, cell->length);
    }
    sink_text(out, " |\n");
}

static void write_alignment(struct sink *out, const struct grid *grid)
{
    for (size_t column = 0; column < grid->columns; column++)
        sink_text(out, grid->column[column].left ? "| :-- " : "| --: ");
    sink_text(out, "|\n");
}

static void write_grid(struct render *render, const struct table *table, const struct grid *grid)
{
    write_row(render->out, grid, GRID_HEAD);
    write_alignment(render->out, grid);
    for (size_t row = GRID_FIRST_ROW; row < grid_row_count(grid); row++)
        write_row(render->out, grid, row);
    size_t rest = table->rows - table->shown;
    if (rest > 0)
        sink_format(render->out, "\n… and %zu more row%s (--top=0 shows all)\n", rest, rest == 1 ? "" : "s");
}

static void table(struct render *render, const struct table *table)
{
    struct grid grid;
    if (render_leaves_out(render, table))
        return;
    sink_format(render->out, "%s%s %s\n\n", render->any ? "\n" : "", render->several_traces ? "##" : "#", table->title);
    render->any = true;
    if (table->rows == 0) {
        render_missing(render, table, "");
        return;
    }
    if (grid_make(&grid, render, table, SPECIAL) < 0)
        render->out->failure = render->out->failure ? render->out->failure : ENOMEM;
    else
        write_grid(render, table, &grid);
    if (*table->missing) {
        sink_char(render->out, '\n');
        render_missing(render, table, "");
    }
    grid_release(&grid);
}

static void trace_begin(struct render *render, const char *path, const char *missing)
{
    (void)missing;
    if (!render->several_traces)
        return;
    sink_text(render->out, render->any ? "\n# " : "# ");
    render_visible(render->out, path, SPECIAL);
    sink_char(render->out, '\n');
    render->any = true;
}

static void trace_end(struct render *render)
{
    render_left_out(render);
}

const struct renderer renderer_markdown = {.trace_begin = trace_begin, .table = table, .trace_end = trace_end};
