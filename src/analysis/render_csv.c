/* Comma-separated values as RFC 4180 has them. Several tables in one output are parted by an empty line, and each is
 * headed by a line with the section's name alone; so are several traces, by the name of the file. What was not recorded
 * is named in a last row, in the column "name" or another of texts; the others are empty there. */
#include <stdio.h>
#include <string.h>

#include "common/sink.h"
#include "common/utf8.h"
#include "analysis/render.h"
#include "analysis/table.h"
#include "analysis/units.h"

static void write_text(struct sink *out, const char *text)
{
    bool quoted = text[strcspn(text, ",\"\r\n")] != '\0';
    if (quoted)
        sink_char(out, '"');
    for (size_t left = strlen(text); left > 0;) {
        size_t size = utf8_size(text, left);
        if (size == 0)
            sink_text(out, UTF8_REPLACEMENT);
        if (*text == '"')
            sink_char(out, '"');
        sink_bytes(out, text, size);
        size = size ? size : 1;
        text += size;
        left -= size;
    }
    if (quoted)
        sink_char(out, '"');
}

static void write_head(struct render *render, const struct table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        struct unit unit = unit_for_machines(table->columns[i].type, render->options->unit);
        sink_format(render->out, "%s%s%s%s", i ? "," : "", table->columns[i].word, *unit.word ? "_" : "", unit.word);
    }
    sink_text(render->out, "\r\n");
}

static void write_row(struct render *render, const struct table *table, size_t row)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const struct cell *cell = table_cell(table, row, i);
        enum column_type type = table->columns[i].type == TYPE_ANY ? cell->type : table->columns[i].type;
        struct unit unit =
            unit_for_machines(type, table->columns[i].type == TYPE_ANY ? REPORT_UNIT_NS : render->options->unit);
        if (i > 0)
            sink_char(render->out, ',');
        if (cell->kind == CELL_TEXT)
            write_text(render->out, table_cell_text(table, cell));
        else if (cell->kind == CELL_INTEGER || cell->kind == CELL_REAL)
            unit_write(render->out, cell, type, &unit);
    }
    sink_text(render->out, "\r\n");
}

static void write_missing(struct render *render, const struct table *table)
{
    char text[TABLE_MISSING + 32];
    size_t last = table->column_count;
    while (last-- > 0 && table->columns[last].type != TYPE_TEXT)
        ;
    int name = table_find_column(table->columns, table->column_count, "name");
    size_t column = name >= 0 ? (size_t)name : last;
    snprintf(text, sizeof(text), "not recorded: %s", table->missing);
    for (size_t i = 0; i < table->column_count; i++) {
        if (i > 0)
            sink_char(render->out, ',');
        if (i == column)
            write_text(render->out, text);
    }
    sink_text(render->out, "\r\n");
}

static void heading(struct render *render, const char *text)
{
    if (render->any)
        sink_text(render->out, "\r\n");
    write_text(render->out, text);
    sink_text(render->out, "\r\n");
}

static void table(struct render *render, const struct table *table)
{
    if (render->several_tables || render->several_traces)
        heading(render, table->word);
    write_head(render, table);
    for (size_t row = 0; row < table->shown; row++)
        write_row(render, table, row);
    if (*table->missing)
        write_missing(render, table);
    render->any = true;
}

static void trace_begin(struct render *render, const char *path, const char *missing)
{
    (void)missing;
    if (render->several_traces)
        heading(render, path);
    render->any |= render->several_traces;
}

const struct renderer renderer_csv = {.trace_begin = trace_begin, .table = table};
