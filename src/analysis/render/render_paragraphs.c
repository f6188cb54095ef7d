/*
 * A table whose rows are paragraphs for people: the first column is a heading with the row's number, each other column
 * a line of its own behind its title, wrapped between words. Tags are at the right end of lines: one in the line of the
 * heading, another one in the last line.
 */
#include "analysis/render/render_paragraphs.h"

#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/render/render.h"
#include "analysis/base/table.h"

#define WIDTH_UNKNOWN 100 /* for files and pipes: longer lines are hard to read */
#define WIDTH_LEAST 40

struct paragraphs {
    struct buffer *out, text;
    const struct table *table;
    size_t width;
    bool markdown, ascii;
};

/* Writes TEXT from column AT on, and lines after the first behind INDENT blanks. Returns where the last line ends,
 * which is not ended. */
static size_t write_wrapped(struct buffer *out, const char *text, size_t indent, size_t at, size_t width)
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
    return at;
}

/* The text of a cell as it is shown, until the next one; NULL: it has none. DETAIL: what comes behind its first line.
 */
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

/* Ends the line, of which AT characters are written, with a tag. TAG: its column; -1: none. */
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

static void write_row(struct paragraphs *to, size_t row)
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
            at = write_wrapped(to->out, text, indent, indent, width);
            end_line(to, row, tag, "", at);
            at = 0;
            const char *detail = text_of(to, row, (int)i, true);
            if (detail) {
                buffer_text(to->out, to->markdown ? "   - " : indent == 5 ? "     " : "      ");
                at = write_wrapped(to->out, detail, indent, indent, width);
            }
            tag = -1;
            heading = false;
            continue;
        }
        buffer_format(to->out, "%s%s: ", to->markdown ? "   - " : indent == 5 ? "     " : "      ", title);
        at = write_wrapped(to->out, text, indent + 2, indent + strlen(title) + 2, width);
    }
    if (at > 0)
        end_line(to, row, tag, "more: -r ", at);
}

static size_t width_of(const struct render *render)
{
    size_t width = render->options->width ? render->options->width : WIDTH_UNKNOWN;
    return width < WIDTH_LEAST ? WIDTH_LEAST : width;
}

void render_line(struct render *render, const char *text)
{
    bool markdown = render->format == &renderer_markdown;
    struct buffer shown;
    if (render->format == &renderer_html) {
        page_put_text(&render->page, "headline", text);
        return;
    }
    buffer_init_memory(&shown);
    render_visible(&shown, text, markdown ? RENDER_MARKDOWN : "");
    if (render->options->ascii && !shown.failure)
        render_ascii(&shown, 0);
    buffer_char(&shown, '\0');
    if (!shown.failure) {
        size_t blanks = strspn(shown.data, " ");
        buffer_format(render->out, "%*s", (int)blanks, "");
        write_wrapped(render->out, shown.data + blanks, blanks + 2, blanks, markdown ? SIZE_MAX : width_of(render));
        buffer_char(render->out, '\n');
        render->lines += 1 + render_width(shown.data, strlen(shown.data)) / width_of(render);
    }
    render->out->failure = render->out->failure ? render->out->failure : shown.failure;
    buffer_release(&shown);
}

void render_paragraphs(struct render *render, const struct table *table, bool markdown)
{
    struct paragraphs to = {.out = render->out, .table = table, .markdown = markdown, .ascii = render->options->ascii};
    size_t rest = table->rows - table->shown;
    to.width = width_of(render);
    buffer_init_memory(&to.text);
    for (size_t row = 0; row < table->shown; row++)
        write_row(&to, row);
    if (rest > 0)
        buffer_format(to.out, "%s%zu more: -r %s\n", markdown ? "\n" : "  ", rest, table->word);
    if (to.text.failure && !render->out->failure)
        render->out->failure = to.text.failure;
    buffer_release(&to.text);
}
