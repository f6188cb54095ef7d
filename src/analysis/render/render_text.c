/* The formats for people: aligned text, and Markdown. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "common/text.h"
#include "analysis/render/grid.h"
#include "analysis/render/render.h"
#include "analysis/base/table.h"

/* Aligned text for a terminal. */

#define COLOUR_TITLE "\x1b[1m"
#define COLOUR_BAR "\x1b[36m"
#define COLOUR_BAD "\x1b[31m"
#define COLOUR_END "\x1b[0m"

static void repeat(struct buffer *out, char c, size_t count)
{
    while (count-- > 0)
        buffer_char(out, c);
}

static void coloured(struct buffer *out, const struct render *render, const char *colour)
{
    if (render->options->colour)
        buffer_text(out, colour);
}

static void write_bar(struct buffer *out, const struct grid *grid, size_t row, size_t column)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    bool data = row >= GRID_FIRST_ROW && row <= grid->rows, ascii = grid->render->options->ascii;
    const struct cell *cell = data ? table_cell(grid->table, row - GRID_FIRST_ROW, grid->column[column].index) : NULL;
    /* The largest share of a column gets a full bar. */
    double most = 0;
    for (size_t i = 0; i < grid->rows; i++) {
        const struct cell *one = table_cell(grid->table, i, grid->column[column].index);
        most = one->kind == CELL_REAL && one->real > most ? one->real : most;
    }
    double share = cell && cell->kind == CELL_REAL && cell->real > 0 && most > 0 ? cell->real / most : 0;
    size_t steps = (size_t)(share * GRID_BAR * 8 + 0.5), whole = steps / 8, rest = ascii ? 0 : steps % 8;
    buffer_char(out, ' ');
    if (steps > 0)
        coloured(out, grid->render, COLOUR_BAR);
    for (size_t i = 0; i < whole; i++)
        buffer_text(out, ascii ? "#" : "█");
    buffer_text(out, eighths[rest]);
    if (steps > 0)
        coloured(out, grid->render, COLOUR_END);
    repeat(out, ' ', GRID_BAR - whole - (rest > 0));
}

static void write_cell(struct buffer *out, const struct grid *grid, size_t row, size_t column, bool last)
{
    const struct grid_cell *cell = grid_cell(grid, row, column);
    size_t length = cell->length, width = grid->column[column].width;
    size_t blank = cell->width < width ? width - cell->width : 0;
    if (!grid->column[column].left)
        repeat(out, ' ', blank);
    while (last && length > 0 && grid->text.data[cell->at + length - 1] == ' ')
        length--;
    if (cell->bad)
        coloured(out, grid->render, COLOUR_BAD);
    buffer_bytes(out, grid->text.data + cell->at, length);
    if (cell->bad)
        coloured(out, grid->render, COLOUR_END);
    if (grid->column[column].left && !last)
        repeat(out, ' ', blank);
    if (grid->column[column].bar)
        write_bar(out, grid, row, column);
}

static void write_table_row(struct buffer *out, const struct grid *grid, size_t row)
{
    size_t last = grid_last(grid, row); /* so that no blanks end the line */
    for (size_t column = 0; column <= last; column++) {
        repeat(out, ' ', column == 0 ? GRID_INDENT : GRID_GAP);
        write_cell(out, grid, row, column, column == last);
    }
    buffer_char(out, '\n');
}

static void write_rules(struct buffer *out, const struct grid *grid)
{
    for (size_t column = 0; column < grid->columns; column++) {
        const struct grid_column *shown = &grid->column[column];
        repeat(out, ' ', column == 0 ? GRID_INDENT : GRID_GAP);
        bool last_text = column + 1 == grid->columns && shown->left;
        repeat(out, '-', last_text ? grid_cell(grid, GRID_HEAD, column)->width : shown->width);
        repeat(out, '-', shown->bar ? 1 + GRID_BAR : 0);
    }
    buffer_char(out, '\n');
}

static void write_rest(struct buffer *out, const struct render *render, const struct table *table, const char *before)
{
    size_t rest = table->rows - table->shown;
    if (rest > 0)
        buffer_format(out, "%s%s and %s (--top=0 shows all)\n", before, render->options->ascii ? "..." : "…",
                      text_count(rest, "more row").text);
}

static int write_text_grid(struct render *render, struct grid *grid)
{
    const struct table *table = grid->table;
    struct buffer *out = render->out;
    if (render->options->width && grid_fit(grid, render->options->width) < 0)
        return -1;
    render->dropped |= grid->dropped;
    if (!table->listing || table->headed) {
        write_table_row(out, grid, GRID_HEAD);
        write_rules(out, grid);
    }
    for (size_t row = 0; row < grid->rows; row++)
        write_table_row(out, grid, GRID_FIRST_ROW + row);
    write_rest(out, render, table, "  ");
    if (grid->sums) {
        write_rules(out, grid);
        write_table_row(out, grid, grid->rows + 1);
    }
    return 0;
}

/* Tables of GitHub's Markdown. */

static void write_markdown_row(struct buffer *out, const struct grid *grid, size_t row)
{
    for (size_t column = 0; column < grid->columns; column++) {
        const struct grid_cell *cell = grid_cell(grid, row, column);
        buffer_text(out, column == 0 ? "| " : " | ");
        buffer_bytes(out, grid->text.data + cell->at, cell->length);
    }
    buffer_text(out, " |\n");
}

/* --- paragraphs --- */

/* Each row of the table is a paragraph. The first column is a heading with the row's number; each other column is a
 * line that begins with its title. Tags stand at the right end of lines: one in the line of the heading, another in the
 * last line. */

struct paragraphs {
    struct buffer *out, text;
    const struct table *table;
    size_t width;
    bool markdown, ascii;
};

/* Returns the shown text of the first line of a cell, or with DETAIL of the lines after it, valid until the next call.
 * Returns NULL if there is no text. */
static const char *text_of(struct paragraphs *to, size_t row, int column, bool detail)
{
    const struct cell *cell = column < 0 ? NULL : table_cell(to->table, row, (size_t)column);
    const char *text = cell && cell->kind == CELL_TEXT ? table_cell_text(to->table, cell) : "";
    char first[1024];
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(text, "\n"), text);
    text += strcspn(text, "\n");
    if (!*(detail ? text : first))
        return NULL;
    to->text.length = 0;
    render_visible(&to->text, detail ? text + 1 : first, to->markdown ? RENDER_MARKDOWN : "");
    if (to->ascii && !to->text.failure)
        render_ascii(&to->text, 0);
    buffer_char(&to->text, '\0');
    return to->text.failure ? NULL : to->text.data;
}

/* Ends the line, of which AT characters are written, with BEFORE and the text of column TAG. TAG is -1 if the line has
 * no tag. */
static void end_line(struct paragraphs *to, size_t row, int tag, const char *before, size_t at)
{
    const char *text = text_of(to, row, tag, false);
    size_t width = text ? strlen(before) + render_width(text, strlen(text)) : 0;
    if (text && to->markdown)
        buffer_format(to->out, " (%s%s)", before, text);
    else if (text && at + 2 + width > to->width)
        buffer_format(to->out, "\n%*s%s%s", (int)(to->width - width), "", before, text);
    else if (text)
        buffer_format(to->out, "%*s%s%s", (int)(to->width - width - at), "", before, text);
    buffer_char(to->out, '\n');
}

static void write_paragraph(struct paragraphs *to, size_t row)
{
    const struct table *table = to->table;
    size_t indent = row + 1 < 10 ? 5 : 6, width = to->markdown ? SIZE_MAX : to->width, at = 0;
    int tag = -1;
    bool heading = true;
    for (size_t i = 0; i < table->column_count; i++) {
        const char *title = table->columns[i].title;
        tag = table->columns[i].flags & COLUMN_TAG ? (int)i : tag;
        const char *text = table->columns[i].flags & COLUMN_MACHINE ? NULL : text_of(to, row, (int)i, false);
        if (!text)
            continue;
        if (at > 0)
            end_line(to, row, -1, "", at);
        if (heading) {
            buffer_format(to->out, "%s%zu. ", to->markdown ? "" : "  ", row + 1);
            at = render_wrapped(to->out, text, indent, indent, width);
            end_line(to, row, tag, "", at);
            at = 0;
            const char *detail = text_of(to, row, (int)i, true);
            if (detail) {
                buffer_text(to->out, to->markdown ? "   - " : indent == 5 ? "     " : "      ");
                at = render_wrapped(to->out, detail, indent, indent, width);
            }
            tag = -1;
            heading = false;
            continue;
        }
        buffer_format(to->out, "%s%s: ", to->markdown ? "   - " : indent == 5 ? "     " : "      ", title);
        at = render_wrapped(to->out, text, indent + 2, indent + strlen(title) + 2, width);
    }
    if (at > 0)
        end_line(to, row, tag, "more: -r ", at);
}

static void write_paragraphs(struct render *render, const struct table *table, bool markdown)
{
    struct paragraphs to = {.out = render->out, .table = table, .markdown = markdown, .ascii = render->options->ascii};
    size_t rest = table->rows - table->shown;
    to.width = render_line_width(render);
    buffer_init_memory(&to.text);
    for (size_t row = 0; row < table->shown; row++)
        write_paragraph(&to, row);
    if (rest > 0)
        buffer_format(to.out, "%s%zu more: -r %s\n", markdown ? "\n" : "  ", rest, table->word);
    if (to.text.failure && !render->out->failure)
        render->out->failure = to.text.failure;
    buffer_release(&to.text);
}

/* --- tables of both formats --- */

/* Appends WORD to LIST, which has SIZE bytes; MISSING: which part was not recorded. */
static void list_add(char *list, size_t size, const char *word, const char *missing)
{
    size_t length = strlen(list);
    const char *format = *missing ? "%s%s (not recorded: %s)" : "%s%s";
    snprintf(list + length, size - length, format, length ? ", " : "", word, missing);
}

/* Returns whether an empty section is left out because the user did not ask for it by its name. Adds its name to the
 * line at the end, unless it is part of another section. */
static bool leave_out(struct render *render, const struct table *table)
{
    bool says_so = table->none && table->paragraphs; /* a text tells that nothing was found */
    if (table->rows > 0 || says_so || (render->options->sections != 0 && !table->part))
        return false;
    if (table->unrecorded)
        list_add(render->unrecorded, sizeof(render->unrecorded), table->word, "");
    else if (!table->part)
        list_add(render->left_out, sizeof(render->left_out), table->word, table->missing);
    return true;
}

static void write_grid(struct render *render, const struct table *table, bool markdown)
{
    struct grid grid;
    int status = grid_make(&grid, render, table, markdown ? RENDER_MARKDOWN : "", !markdown);
    if (status == 0 && grid.columns > 0 && markdown) {
        write_markdown_row(render->out, &grid, GRID_HEAD);
        for (size_t column = 0; column < grid.columns; column++)
            buffer_text(render->out, grid.column[column].left ? "| :-- " : "| --: ");
        buffer_text(render->out, "|\n");
        for (size_t row = GRID_FIRST_ROW; row < grid_row_count(&grid); row++)
            write_markdown_row(render->out, &grid, row);
        write_rest(render->out, grid.render, grid.table, "\n");
    } else if (status == 0 && grid.columns > 0)
        status = write_text_grid(render, &grid);
    if (status < 0)
        render->out->failure = render->out->failure ? render->out->failure : ENOMEM;
    grid_release(&grid);
}

static void write_none(struct render *render, const struct table *table, const char *indent)
{
    struct buffer text;
    size_t lines = render->lines;
    buffer_init_memory(&text);
    buffer_format(&text, "%s%s", indent, table->none ? table->none : "none in this trace");
    buffer_char(&text, '\0');
    if (!text.failure)
        render_line(render, text.data);
    render->lines = lines; /* report_put_table() counts the lines of tables */
    render->out->failure = render->out->failure ? render->out->failure : text.failure;
    buffer_release(&text);
}

static void write_table(struct render *render, const struct table *table)
{
    bool markdown = render->format == &renderer_markdown;
    const char *indent = markdown ? "" : "  ";
    if (leave_out(render, table))
        return;
    /* Write the heading "Kernels (kernels)". */
    buffer_text(render->out, render->any ? "\n" : "");
    if (markdown)
        buffer_text(render->out, render->several_traces ? "## " : "# ");
    else
        coloured(render->out, render, COLOUR_TITLE);
    const char *micro = render->options->ascii ? strstr(table->title, "µ") : NULL;
    size_t before = micro ? (size_t)(micro - table->title) : strlen(table->title);
    buffer_bytes(render->out, table->title, before);
    if (micro)
        buffer_format(render->out, "u%s", micro + strlen("µ"));
    if (!markdown)
        coloured(render->out, render, COLOUR_END);
    buffer_format(render->out, " (%s)\n%s", table->word, markdown ? "\n" : "");
    render->any = true;
    if (table->rows > 0 && table->paragraphs)
        write_paragraphs(render, table, markdown);
    else if (table->rows > 0)
        write_grid(render, table, markdown);
    else if (!table->unrecorded)
        write_none(render, table, indent);
    if (*table->missing)
        buffer_format(render->out, "%s%snot recorded (left out by --trace): %s\n",
                      markdown && table->rows > 0 ? "\n" : "", indent, table->missing);
}

static void begin_trace(struct render *render, const char *path, const char *missing)
{
    bool markdown = render->format == &renderer_markdown;
    if (!render->several_traces)
        return;
    buffer_text(render->out, !render->any ? "" : markdown ? "\n" : "\n\n");
    buffer_text(render->out, markdown ? "# " : "=== ");
    render_visible(render->out, path, markdown ? RENDER_MARKDOWN : "");
    buffer_text(render->out, markdown ? "\n" : " ===\n");
    render->any = true;
}

/* Writes LABEL and a list of words, wrapped to the terminal's width. */
static void write_words(struct render *render, const char *label, const char *words)
{
    bool markdown = render->format == &renderer_markdown;
    size_t width = markdown ? 0 : render->options->width, at = strlen(label);
    if (!*words)
        return;
    buffer_text(render->out, label);
    for (size_t length; *words; words += length) {
        words += strspn(words, " ");
        length = strcspn(words, ",");
        length += words[length] == ',';
        if (width && at + 1 + length > width) {
            buffer_text(render->out, "\n ");
            at = 1;
        }
        buffer_char(render->out, ' ');
        buffer_bytes(render->out, words, length);
        at += 1 + length;
    }
    buffer_char(render->out, '\n');
}

static void end_trace(struct render *render)
{
    bool usual = render->options->usual;
    if (usual || *render->left_out || *render->unrecorded || render->dropped)
        buffer_char(render->out, '\n');
    if (!usual)
        write_words(render, "Not in this trace:", render->left_out);
    write_words(render, "Not recorded (left out by --trace):", render->unrecorded);
    if (!usual)
        write_words(render, "Columns left out:", render->dropped ? "--columns=all shows them" : "");
    if (usual)
        render_line(render,
                    "More: gputrace report -r list (all sections), -r kernels, --html=page.html; gputrace view");
    *render->left_out = *render->unrecorded = '\0';
    render->lines = 0;
    render->dropped = false;
}

const struct renderer renderer_table = {.trace_begin = begin_trace, .table = write_table, .trace_end = end_trace};
const struct renderer renderer_markdown = {.trace_begin = begin_trace, .table = write_table, .trace_end = end_trace};
