/*
 * Writes the report as an HTML page: the files of html/, and the tables as data (page.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/threads.h"
#include "analysis/ranks/ranks_of_trace.h"
#include "analysis/render/page.h"
#include "analysis/ranks/stragglers.h"
#include "analysis/render/render.h"
#include "analysis/base/table.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace.h"
#include "analysis/ranks/ranks.h"

/* Includes a file of html/ unchanged and adds a NUL. The Makefile knows that this file depends on them. */
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

/* Lines of page.html that the style, the data and the scripts replace. */
#define STYLE_MARK "@STYLE@\n"
#define DATA_MARK "@DATA@\n"
#define SCRIPT_MARK "@SCRIPT@\n"

/* Writes FRAME up to MARK. Returns the text after the mark. */
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

/* --- the map of ranks and steps --- */

/*
 * The ranks of a job and their steps, as the key `heat` of a chapter:
 *     ranks     the first rank of each row; rows are sorted by rank
 *     per_row   number of ranks in a row
 *     steps, columns, per_column
 *               number of steps, of columns, and of steps in a column
 *     late      stragglers: [{row, rank, text}]
 *     figures   [{name, unit, cells}]: cells by row and column, each the mean of its steps in units of `unit` ns; for
 *               several ranks the largest mean. -1: no rank has such a step
 */
#define ROWS 100
#define COLUMNS 100
#define DIGITS 9999 /* the largest number of a figure */
#define NOTHING (-1)

/* The page shows first the first figure that has values. */
enum figure { WAITED, STEP, COMPUTE, COMMUNICATION, IDLE, CAUSES, FIGURES = CAUSES + RANK_STEP_CAUSE_COUNT };

static const char *const figure_names[FIGURES] = {[WAITED] = "Waiting for other ranks",
                                                  [STEP] = "Step time",
                                                  [COMPUTE] = "Computing and copying",
                                                  [COMMUNICATION] = "Communication",
                                                  [IDLE] = "Idle",
#define CAUSE(constant, text) [CAUSES + RANK_STEP_##constant] = text,
                                                  RANK_STEP_CAUSES(CAUSE)
#undef CAUSE
};

#define LEAST_PART 200 /* a cause of idle time is left out below 1/200 of the longest step */

struct heat {
    const struct ranks *ranks;
    const struct rank **order; /* sorted by number */
    uint32_t *row;             /* by index in ranks.items: row on the map */
    size_t steps, rows, per_row, columns, per_column;
    double *cells[FIGURES];
};

struct sums {
    double of[FIGURES], steps;
};

/* Fills the cells. The items of a rank are neighbours. */
static int fill_cells(struct heat *heat)
{
    const struct rank_steps *steps = &heat->ranks->steps;
    size_t bytes = (heat->columns + 1) * sizeof(struct sums);
    struct sums *columns = malloc(bytes);
    if (!columns)
        return -1;
    for (size_t i = 0; i < steps->count;) {
        uint32_t rank = steps->items[i].rank;
        memset(columns, 0, bytes);
        for (; i < steps->count && steps->items[i].rank == rank; i++) {
            const struct rank_step *step = &steps->items[i];
            struct sums *sums = &columns[step->first / heat->per_column];
            int64_t other = step->gpu - step->communication;
            sums->steps += step->count;
            sums->of[STEP] += (double)step->total;
            sums->of[COMPUTE] += other > 0 ? (double)other : 0;
            sums->of[COMMUNICATION] += (double)step->communication;
            sums->of[WAITED] += (double)step->waited;
            for (unsigned cause = 0; cause < RANK_STEP_CAUSE_COUNT; cause++) {
                sums->of[IDLE] += (double)step->idle[cause];
                sums->of[CAUSES + cause] += (double)step->idle[cause];
            }
        }
        for (size_t k = 0; k < heat->columns; k++)
            for (unsigned figure = 0; figure < FIGURES && columns[k].steps > 0; figure++) {
                double *cell = &heat->cells[figure][heat->row[rank] * heat->columns + k];
                double mean = columns[k].of[figure] / columns[k].steps;
                *cell = mean > *cell ? mean : *cell;
            }
    }
    free(columns);
    return 0;
}

static double most_of(const struct heat *heat, enum figure figure)
{
    double most = 0;
    for (size_t i = 0; i < heat->rows * heat->columns; i++)
        most = heat->cells[figure][i] > most ? heat->cells[figure][i] : most;
    return most;
}

static void write_figure(struct page *page, const struct heat *heat, enum figure figure)
{
    struct json_out *json = &page->json;
    const double *cells = heat->cells[figure];
    size_t count = heat->rows * heat->columns;
    double most = most_of(heat, figure);
    int64_t unit = (int64_t)(most / DIGITS) + 1;
    if (most <= 0 || (figure >= CAUSES && most < most_of(heat, STEP) / LEAST_PART))
        return;
    json_begin_object(json);
    page_put_text(page, "name", figure_names[figure]);
    json_put_i64(json, "unit", unit);
    json_key_array(json, "cells");
    for (size_t i = 0; i < count; i++)
        json_i64(json, cells[i] < 0 ? NOTHING : (int64_t)(cells[i] / (double)unit + 0.5));
    json_end(json);
    json_end(json);
}

struct marking {
    struct page *page;
    const struct heat *heat;
};

static int write_late(void *context, const struct straggler *straggler)
{
    struct marking *marking = context;
    struct page *page = marking->page;
    for (int64_t i = 0; i < (straggler->members ? straggler->ranks : 1); i++) {
        uint32_t index = straggler->members ? straggler->members[i] : straggler->index;
        json_begin_object(&page->json);
        json_put_i64(&page->json, "row", marking->heat->row[index]);
        json_put_i64(&page->json, "rank", marking->heat->ranks->items.items[index].rank);
        page_put_text(page, "text", straggler->text);
        json_end(&page->json);
    }
    return 0;
}

static int write_heat(struct page *page, const struct heat *heat, int64_t least)
{
    struct json_out *json = &page->json;
    struct marking marking = {page, heat};
    json_key_object(json, "heat");
    json_key_array(json, "ranks");
    for (size_t i = 0; i < heat->ranks->items.count; i += heat->per_row)
        json_i64(json, heat->order[i]->rank);
    json_end(json);
    json_put_u64(json, "per_row", heat->per_row);
    json_put_u64(json, "steps", heat->steps);
    json_put_u64(json, "columns", heat->columns);
    json_put_u64(json, "per_column", heat->per_column);
    json_key_array(json, "late");
    int status = stragglers_each(heat->ranks, least, write_late, &marking);
    json_end(json);
    json_key_array(json, "figures");
    for (unsigned figure = 0; figure < FIGURES; figure++)
        write_figure(page, heat, figure);
    json_end(json);
    json_end(json);
    return status;
}

static int write_map(struct page *page, const struct ranks *ranks, int64_t least)
{
    struct heat heat = {.ranks = ranks};
    int status = 0;
    if (ranks->items.count < 2 || ranks->steps.count == 0)
        return 0;
    /* A column has as many steps as the widest item, or this number times a power of two, so that each item lies in one
     * column. */
    const struct rank_steps *steps = &heat.ranks->steps;
    heat.per_column = 1;
    for (size_t i = 0; i < steps->count; i++) {
        const struct rank_step *step = &steps->items[i];
        size_t end = (size_t)step->first + step->count;
        heat.steps = end > heat.steps ? end : heat.steps;
        heat.per_column = step->width > heat.per_column ? step->width : heat.per_column;
    }
    while (heat.steps > heat.per_column * COLUMNS)
        heat.per_column *= 2;
    heat.columns = (heat.steps + heat.per_column - 1) / heat.per_column;
    size_t count = ranks->items.count;
    heat.order = ranks_by_number(ranks);
    heat.row = calloc(count + 1, sizeof(*heat.row));
    heat.per_row = (count + ROWS - 1) / ROWS;
    heat.rows = (count + heat.per_row - 1) / heat.per_row;
    status = heat.order && heat.row ? 0 : -1;
    for (size_t i = 0; status == 0 && i < count; i++)
        heat.row[heat.order[i] - ranks->items.items] = (uint32_t)(i / heat.per_row);
    for (unsigned figure = 0; figure < FIGURES && status == 0; figure++) {
        heat.cells[figure] = malloc((heat.rows * heat.columns + 1) * sizeof(double));
        status = heat.cells[figure] ? 0 : -1;
        for (size_t i = 0; status == 0 && i < heat.rows * heat.columns; i++)
            heat.cells[figure][i] = NOTHING;
    }
    status = status ?: fill_cells(&heat) ?: write_heat(page, &heat, least);
    free(heat.order);
    free(heat.row);
    for (unsigned i = 0; i < FIGURES; i++)
        free(heat.cells[i]);
    return status;
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

/* Returns the name of a column's type in the page's JSON: "count". */
static const char *type_word(enum column_type type)
{
    static const char *const words[] = {[TYPE_MEAN] = "count",      [TYPE_TEXT] = "text", [TYPE_COUNT] = "count",
                                        [TYPE_NUMBER] = "number",   [TYPE_NS] = "ns",     [TYPE_BYTES] = "bytes",
                                        [TYPE_PERCENT] = "percent", [TYPE_RATE] = "rate", [TYPE_ANY] = "any"};
    return words[type];
}

/* Returns whether a column is written. Columns for programs are only written for findings, which the page does not draw
 * as a table. */
static bool is_shown(const struct table *table, size_t column)
{
    unsigned flags = table->columns[column].flags;
    if (flags & COLUMN_MACHINE)
        return table->paragraphs;
    return !(flags & COLUMN_OPTIONAL) || !table_column_empty(table, column);
}

/* Writes a number. Large numbers get no decimals, except percentages. */
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
    bool sums = false;
    for (size_t i = 0; i < table->column_count; i++)
        sums |= table->columns[i].flags & COLUMN_SUM && is_shown(table, i);
    if (sums && !table->listing && table->rows > 0) {
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

static void trace_end(struct render *render)
{
    struct page *page = &render->page;
    page_begin_tables(page);
    json_end(&page->json);
    if (render->windows)
        render->windows(render->job, page);
    int status = render->ranks ? write_map(page, render->ranks, render->late)
                               : page_charts(page, render->trace, ordered_loop_workers(render->options->workers, 2));
    if (!render->ranks && status == 0 && section_state(render->trace, REPORT_RANKS)) {
        struct ranks ranks = {0};
        status = ranks_of_trace(&ranks, render->trace) ?: write_map(page, &ranks, FINDING_COST_NS);
        ranks_release(&ranks);
    }
    if (status < 0)
        page->data.failure = ENOMEM;
    page_end(page, render->out);
}

const struct renderer renderer_html = {
    .begin = begin, .trace_begin = trace_begin, .table = write_table, .trace_end = trace_end, .end = end};
