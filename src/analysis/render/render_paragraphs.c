/*
 * A table whose rows are paragraphs for people: the first column is a heading with the row's number, each other one a
 * line of its own behind its title, broken between words where the terminal ends.
 */
#include <string.h>

#include "common/buffer.h"
#include "analysis/render/render.h"
#include "analysis/base/table.h"

#define WIDTH_UNKNOWN 100 /* of a file or pipe: longer lines are hard to read */
#define WIDTH_LEAST 40

/* Writes TEXT from column AT on, and lines after the first behind INDENT blanks. */
static void write_wrapped(struct buffer *out, const char *text, size_t indent, size_t at, size_t width)
{
    bool first = true;
    while (*text) {
        size_t length = strcspn(text, " ");
        size_t word = render_width(text, length);
        if (!first && at + 1 + word > width) {
            buffer_format(out, "\n%*s", (int)indent, "");
            at = indent;
            first = true;
        }
        if (!first)
            buffer_char(out, ' ');
        buffer_bytes(out, text, length);
        at += word + !first;
        first = false;
        text += length + strspn(text + length, " ");
    }
    buffer_char(out, '\n');
}

/* What Markdown or HTML would take for its own. */
#define SPECIAL "\\`*_[]<>|~&#$"

static void write_row(struct buffer *out, const struct table *table, size_t row, struct buffer *text, size_t width,
                      bool markdown, bool ascii)
{
    bool heading = true;
    size_t indent = row + 1 < 10 ? 5 : 6;
    for (size_t i = 0; i < table->column_count; i++) {
        const struct cell *cell = table_cell(table, row, i);
        if (table->columns[i].flags & COLUMN_MACHINE || cell->kind != CELL_TEXT || !*table_cell_text(table, cell))
            continue;
        text->length = 0;
        render_visible(text, table_cell_text(table, cell), markdown ? SPECIAL : "");
        if (ascii && !text->failure)
            render_ascii(text, 0);
        buffer_char(text, '\0');
        if (text->failure)
            return;
        if (heading && !markdown)
            buffer_format(out, "  %zu. ", row + 1);
        else if (heading)
            buffer_format(out, "%zu. ", row + 1);
        if (markdown)
            buffer_format(out, "%s%s%s%s\n", heading ? "" : "   - ", heading ? "" : table->columns[i].title,
                          heading ? "" : ": ", text->data);
        else if (heading)
            write_wrapped(out, text->data, indent, indent, width);
        else {
            buffer_format(out, "%*s%s: ", (int)indent, "", table->columns[i].title);
            write_wrapped(out, text->data, indent + 2, indent + strlen(table->columns[i].title) + 2, width);
        }
        heading = false;
    }
}

void render_paragraphs(struct render *render, const struct table *table, bool markdown)
{
    struct buffer text;
    size_t width = render->options->width ? render->options->width : WIDTH_UNKNOWN;
    buffer_init_memory(&text);
    for (size_t row = 0; row < table->shown; row++)
        write_row(render->out, table, row, &text, width < WIDTH_LEAST ? WIDTH_LEAST : width, markdown,
                  render->options->ascii);
    if (text.failure && !render->out->failure)
        render->out->failure = text.failure;
    buffer_release(&text);
}
