/*
 * The report as a page: the files of html/, and the tables as data (page.h).
 */
#include <errno.h>
#include <string.h>

#include "common/threads.h"
#include "analysis/ranks/ranks_of_trace.h"
#include "analysis/render/page.h"
#include "analysis/render/page_ranks.h"
#include "analysis/render/render.h"
#include "analysis/base/table.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace.h"
#include "analysis/ranks/ranks.h"

/* The files of html/, as they are, and a NUL. The Makefile knows that this file depends on them. */
#define FILE_BYTES(symbol, file)                                                      \
    extern const char symbol[] __attribute__((visibility("hidden")));                 \
    __asm__(".pushsection .rodata\n.globl " #symbol "\n.hidden " #symbol "\n" #symbol \
            ":\n.incbin \"src/analysis/render/html/" file "\"\n.byte 0\n.popsection\n")
FILE_BYTES(html_frame, "page.html");
FILE_BYTES(html_style, "style.css");
FILE_BYTES(html_script_base, "base.js");
FILE_BYTES(html_script_charts, "charts.js");
FILE_BYTES(html_script_flame, "flame.js");
FILE_BYTES(html_script_heat, "heat.js");
FILE_BYTES(html_script_tables, "tables.js");
FILE_BYTES(html_script_main, "main.js");

/* Lines of page.html that are replaced. */
#define STYLE_MARK "@STYLE@\n"
#define DATA_MARK "@DATA@\n"
#define SCRIPT_MARK "@SCRIPT@\n"

/* Writes FRAME up to MARK. Returns what follows the mark. */
static const char *write_until(struct buffer *out, const char *frame, const char *mark)
{
    const char *end = strstr(frame, mark);
    buffer_bytes(out, frame, (size_t)(end - frame));
    return end + strlen(mark);
}

static void begin(struct render *render)
{
    const char *rest = write_until(render->out, html_frame, STYLE_MARK);
    buffer_text(render->out, html_style);
    write_until(render->out, rest, DATA_MARK);
}

static void end(struct render *render)
{
    struct buffer *out = render->out;
    static const char *const scripts[] = {html_script_base, html_script_charts, html_script_flame,
                                          html_script_heat, html_script_tables, html_script_main};
    const char *rest = strstr(html_frame, DATA_MARK) + strlen(DATA_MARK);
    rest = write_until(out, rest, SCRIPT_MARK);
    for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
        buffer_text(out, scripts[i]);
    buffer_text(out, rest);
}

/* --- a chapter --- */

static void trace_begin(struct render *render, const char *path, const char *missing)
{
    struct page *page = &render->page;
    page_init(page);
    json_begin_object(&page->json);
    page_put_text(page, "trace", path);
    page_put_text(page, "not_recorded", missing);
    page_put_text(page, "version", GPUTRACE_VERSION);
    json_put_i64(&page->json, "span", trace_span(render->trace));
}

/* The name of a column's type in the page's JSON: "count". */
static const char *type_word(enum column_type type)
{
    static const char *const words[] = {[TYPE_MEAN] = "count",      [TYPE_TEXT] = "text", [TYPE_COUNT] = "count",
                                        [TYPE_NUMBER] = "number",   [TYPE_NS] = "ns",     [TYPE_BYTES] = "bytes",
                                        [TYPE_PERCENT] = "percent", [TYPE_RATE] = "rate", [TYPE_ANY] = "any"};
    return words[type];
}

/* Columns for programs are only written for findings, which the page does not draw as a table. */
static bool is_shown(const struct table *table, size_t column)
{
    unsigned flags = table->columns[column].flags;
    if (flags & COLUMN_MACHINE)
        return table->paragraphs;
    return !(flags & COLUMN_OPTIONAL) || !table_column_empty(table, column);
}

/* Large numbers have no decimals, except percentages. */
static void write_number(struct json_out *json, const struct cell *cell, enum column_type type)
{
    bool precise = type == TYPE_PERCENT || (cell->real < 100 && cell->real > -100);
    if (cell->kind == CELL_INTEGER)
        json_i64(json, cell->integer);
    else
        json_double(json, cell->real, precise ? 4 : 0);
}

static void write_cell(struct page *page, const struct table *table, size_t column, const struct cell *cell)
{
    struct json_out *json = &page->json;
    switch (cell->kind) {
    case CELL_NONE: json_string(json, NULL); return;
    case CELL_UNRECORDED: json_bool(json, false); return;
    case CELL_TEXT: page_text(page, table_cell_text(table, cell)); return;
    case CELL_INTEGER:
    case CELL_REAL:
        if (table->columns[column].type != TYPE_ANY) {
            write_number(json, cell, table->columns[column].type);
            return;
        }
        json_begin_array(json);
        json_string(json, type_word(cell->type));
        write_number(json, cell, cell->type);
        json_end(json);
    }
}

static bool has_sums(const struct table *table)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].flags & COLUMN_SUM && is_shown(table, i))
            return !table->listing && table->rows > 0;
    return false;
}

static void write_table(struct render *render, const struct table *table)
{
    struct page *page = &render->page;
    struct json_out *json = &page->json;
    page_begin_tables(page);
    json_begin_object(json);
    page_put_text(page, "word", table->word);
    page_put_text(page, "title", table->title);
    page_put_text(page, "missing", table->missing);
    json_put_u64(json, "rows", table->rows);
    page_put_text(page, "none", table->none ? table->none : "");
    json_key(json, "listing");
    json_bool(json, table->listing);
    json_key(json, "recorded");
    json_bool(json, !table->unrecorded);
    json_key_array(json, "columns");
    for (size_t i = 0; i < table->column_count; i++) {
        if (!is_shown(table, i))
            continue;
        json_begin_array(json);
        json_string(json, table->columns[i].word);
        json_string(json, table->columns[i].title);
        json_string(json, type_word(table->columns[i].type));
        json_end(json);
    }
    json_end(json);
    size_t bytes = page->data.length + page->string_bytes;
    json_key_array(&page->json, "cells");
    for (size_t row = 0; row < table->shown && (bytes < PAGE_TABLE_BYTES || row < PAGE_ROWS_LEAST); row++) {
        json_begin_array(&page->json);
        for (size_t i = 0; i < table->column_count; i++)
            if (is_shown(table, i))
                write_cell(page, table, i, table_cell(table, row, i));
        json_end(&page->json);
        bytes = page->data.length + page->string_bytes;
    }
    json_end(&page->json);
    if (has_sums(table)) {
        json_key_array(&page->json, "sums");
        for (size_t i = 0; i < table->column_count; i++) {
            struct cell sum = table->columns[i].flags & COLUMN_SUM ? table_sum(table, i) : (struct cell){0};
            if (is_shown(table, i))
                write_cell(page, table, i, &sum);
        }
        json_end(&page->json);
    }
    json_end(json);
}

/* Writes the ranks of a trace, if its sections include them. */
static int write_ranks(struct page *page, const struct trace *trace)
{
    struct ranks ranks = {0};
    int status = section_state(trace, REPORT_RANKS) ? ranks_of_trace(&ranks, trace) : 0;
    status = status ?: page_ranks(page, &ranks, FINDING_COST_NS);
    ranks_release(&ranks);
    return status;
}

static int write_charts(struct render *render)
{
    unsigned workers = ordered_loop_workers(render->options->workers, 2);
    if (render->windows)
        render->windows(render->job, &render->page);
    return render->ranks ? page_ranks(&render->page, render->ranks, render->late)
                         : page_charts(&render->page, render->trace, workers)
                               ?: write_ranks(&render->page, render->trace);
}

static void trace_end(struct render *render)
{
    struct page *page = &render->page;
    page_begin_tables(page);
    json_end(&page->json);
    if (write_charts(render) < 0)
        page->data.failure = ENOMEM;
    page_end(page, render->out);
}

const struct renderer renderer_html = {
    .begin = begin, .trace_begin = trace_begin, .table = write_table, .trace_end = trace_end, .end = end};
