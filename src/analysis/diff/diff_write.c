/*
 * Writes the lines and the tables of a comparison through the renderers of reports; JSON and HTML have a frame of their
 * own.
 */
#include "analysis/diff/diff_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/log.h"
#include "analysis/diff/diff_judge.h"
#include "analysis/diff/diff_notes.h"
#include "analysis/diff/diff_words.h"
#include "analysis/render/render.h"
#include "analysis/report.h"
#include "analysis/base/table.h"
#include "analysis/diff/diff_rows.h"

/* A table with its columns, ready for a renderer. */
struct made_table {
    struct table *table;
    struct column *columns;
    char title[128];
};

static int table_init(struct made_table *made, const struct column *columns, size_t count, const char *word)
{
    *made = (struct made_table){.table = calloc(1, sizeof(*made->table)), .columns = malloc(count * sizeof(*columns))};
    if (!made->table || !made->columns)
        return -1;
    memcpy(made->columns, columns, count * sizeof(*columns));
    *made->table = (struct table){.word = word, .columns = made->columns, .column_count = count};
    return 0;
}

static void release_table(struct made_table *made)
{
    if (made->table)
        table_release(made->table);
    free(made->table);
    free(made->columns);
    *made = (struct made_table){0};
}

/* Rows that are shown: of a table for people, and of a table on the first screen, except that of kernels. */
#define TOP_FOR_PEOPLE 10
#define TOP_ON_SCREEN 5

static int table_end(struct made_table *made, const struct diff *diff)
{
    const struct report_options *options = &diff->options->report;
    bool kernels = strcmp(made->table->word, section_list[REPORT_KERNELS].word) == 0;
    size_t usual = options->usual && !kernels ? TOP_ON_SCREEN : TOP_FOR_PEOPLE;
    made->table->title = made->title;
    if (made->table->no_memory || table_choose(made->table, options->columns) < 0)
        return -1;
    return table_sort(made->table, -1, options->top == REPORT_TOP_OWN ? usual : options->top);
}

/* --- terms --- */

enum { TERM_DIFFERENCE, TERM_SHARE, TERM_BEFORE, TERM_AFTER, TERM_KIND, TERM_NAME, TERM_COLUMNS };
static const struct column term_columns[TERM_COLUMNS] = {
    [TERM_DIFFERENCE] = {"difference", "Difference", TYPE_NS, COLUMN_APART | COLUMN_SUM, .fill = NULL},
    [TERM_SHARE] = {"share", "Share", TYPE_PERCENT, COLUMN_SUM | COLUMN_OPTIONAL, .fill = NULL},
    [TERM_BEFORE] = {"before", "Before", TYPE_NS, COLUMN_APART | COLUMN_SUM, .fill = NULL},
    [TERM_AFTER] = {"after", "After", TYPE_NS, COLUMN_APART | COLUMN_SUM, .fill = NULL},
    [TERM_KIND] = {"kind", "Kind", TYPE_TEXT, 0, .fill = NULL},
    [TERM_NAME] = {"name", "Name", TYPE_TEXT, 0, .fill = NULL},
};

/* The terms get no shares if the whole run differs by less than this share, or by less than its largest term. */
#define SHARES_FROM 0.001

/* Terms below this share of the whole run are only shown with --all. */
#define LITTLE 0.0005

/* Makes the table of the terms of the difference. Returns 0, or -1: no memory. The caller releases MADE in both
 * cases. */
static int make_terms(struct made_table *made, const struct diff *diff)
{
    if (table_init(made, term_columns, TERM_COLUMNS, "parts") < 0)
        return -1;
    double before = diff->spans[BEFORE], whole = diff->spans[AFTER] - before;
    snprintf(made->title, sizeof(made->title), "What the difference is made of");
    for (size_t i = 0; i < diff->term_count; i++) {
        const struct diff_term *term = &diff->terms[i];
        struct cell *cells = table_row(made->table);
        if (!cells)
            return -1;
        cells[TERM_DIFFERENCE] = cell_real(diff_term_difference(term));
        if (fabs(whole) >= SHARES_FROM * before && fabs(diff_term_difference(&diff->terms[0])) <= fabs(whole))
            cells[TERM_SHARE] = cell_real(100 * diff_term_difference(term) / whole);
        cells[TERM_BEFORE] = cell_real(term->before);
        cells[TERM_AFTER] = cell_real(term->after);
        cells[TERM_KIND] = table_text(made->table, diff_term_kind(term));
        if (term->kind == TERM_ROW)
            cells[TERM_NAME] = table_text(made->table, diff_name(diff, term->row));
    }
    if (table_end(made, diff) < 0)
        return -1;
    while (!diff->options->all && diff->options->report.top && made->table->shown > 0 &&
           fabs(diff_term_difference(&diff->terms[made->table->shown - 1])) < LITTLE * before)
        made->table->shown--;
    return 0;
}

/* --- a section --- */

enum {
    CHANGE,
    SURENESS,
    DIFFERENCE,
    EACH_CHANGE,
    EACH_MARGIN,
    EACH_BEFORE,
    EACH_AFTER,
    COUNT_BEFORE,
    COUNT_AFTER,
    TOTAL_BEFORE,
    TOTAL_AFTER,
    CHANCE,
    ADJUSTED,
    NAME,
    COLUMNS
};
static const struct column section_columns[COLUMNS] = {
    [CHANGE] = {"what", "What", TYPE_TEXT, 0, .fill = NULL},
    [SURENESS] = {"sure", "Sure", TYPE_TEXT, 0, .fill = NULL},
    [DIFFERENCE] = {"difference", "Total", TYPE_NS, COLUMN_APART | COLUMN_SUM | COLUMN_OPTIONAL, .fill = NULL},
    [EACH_CHANGE] = {"change", "Change", TYPE_PERCENT, COLUMN_OPTIONAL, .fill = NULL},
    [EACH_MARGIN] = {"margin", "±", TYPE_PERCENT, COLUMN_OPTIONAL, .fill = NULL},
    [EACH_BEFORE] = {"each_before", "Before", TYPE_NS, COLUMN_OPTIONAL, .fill = NULL},
    [EACH_AFTER] = {"each_after", "After", TYPE_NS, COLUMN_OPTIONAL, .fill = NULL},
    [COUNT_BEFORE] = {"count_before", "Count before", TYPE_COUNT, COLUMN_OPTIONAL, .fill = NULL},
    [COUNT_AFTER] = {"count_after", "Count after", TYPE_COUNT, COLUMN_OPTIONAL, .fill = NULL},
    [TOTAL_BEFORE] = {"total_before", "Total before", TYPE_NS, COLUMN_MACHINE, .fill = NULL},
    [TOTAL_AFTER] = {"total_after", "Total after", TYPE_NS, COLUMN_MACHINE, .fill = NULL},
    [CHANCE] = {"p", "p", TYPE_NUMBER, COLUMN_MACHINE, .fill = NULL},
    [ADJUSTED] = {"p_adjusted", "p adjusted", TYPE_NUMBER, COLUMN_MACHINE, .fill = NULL},
    [NAME] = {"name", "Name", TYPE_TEXT, 0, .fill = NULL},
};

static void fill_figures(struct cell *cells, const struct diff_row *row)
{
    /* The figure of one occurrence, or of the whole row if there are no occurrences. */
    const struct diff_test *test = row->each.known ? &row->each : row->total.known ? &row->total : NULL;
    if (test) {
        cells[EACH_CHANGE] = cell_real(diff_percent(test->log.value));
        cells[EACH_MARGIN] = cell_real(100 * test->log.margin);
        cells[EACH_BEFORE] = cell_real(test->before);
        cells[EACH_AFTER] = cell_real(test->after);
    } else if (!diff_comparable(row->section)->each && diff_comparable(row->section)->total) {
        cells[row->present[BEFORE] ? EACH_BEFORE : EACH_AFTER] =
            cell_real(row->totals[row->present[BEFORE] ? BEFORE : AFTER]);
    }
    const struct diff_test *why = row->why ? row->why : test ? test : row->count.known ? &row->count : NULL;
    if (why) {
        cells[CHANCE] = cell_real(why->log.p);
        cells[ADJUSTED] = cell_real(why->adjusted);
    }
    if (diff_type(row->section) == TYPE_COUNT)
        return;
    cells[DIFFERENCE] = cell_real(row->totals[AFTER] - row->totals[BEFORE]);
    cells[TOTAL_BEFORE] = cell_real(row->totals[BEFORE]);
    cells[TOTAL_AFTER] = cell_real(row->totals[AFTER]);
}

/* Sorts sure changes first, then by weight. */
static int by_weight(const void *left, const void *right)
{
    const struct diff_row *a = *(const struct diff_row *const *)left, *b = *(const struct diff_row *const *)right;
    double weights[] = {fabs(a->totals[AFTER] - a->totals[BEFORE]), fabs(b->totals[AFTER] - b->totals[BEFORE])};
    if (a->sure != b->sure)
        return a->sure < b->sure ? 1 : -1;
    if (weights[0] != weights[1])
        return weights[0] < weights[1] ? 1 : -1;
    return (a->name > b->name) - (a->name < b->name);
}

static int add_rows(struct made_table *made, const struct diff *diff, unsigned section)
{
    const struct diff_row **rows = calloc(diff->rows.count + 1, sizeof(*rows));
    size_t count = 0;
    for (size_t i = 0; rows && i < diff->rows.count; i++) {
        const struct diff_row *row = &diff->rows.items[i];
        if (row->section == section && (row->change != UNCHANGED || diff->options->all))
            rows[count++] = row;
    }
    if (rows)
        qsort(rows, count, sizeof(*rows), by_weight);
    int status = rows ? 0 : -1;
    for (size_t i = 0; i < count && status == 0; i++) {
        struct cell *cells = table_row(made->table);
        if (cells) {
            cells[CHANGE] = table_text(made->table, diff_change_word(rows[i]->change));
            cells[SURENESS] = table_text(made->table, diff_sure_word(rows[i]->sure));
            fill_figures(cells, rows[i]);
            if (diff_comparable(rows[i]->section)->count) {
                for (enum diff_side side = BEFORE; side < DIFF_SIDES; side++) {
                    double own = rows[i]->counts[side];
                    cells[side == BEFORE ? COUNT_BEFORE : COUNT_AFTER] =
                        own == floor(own) ? cell_integer((int64_t)own) : cell_real(own);
                }
            }
            cells[NAME] = table_text(made->table, diff_name(diff, rows[i]));
        } else
            status = -1;
    }
    free(rows);
    return status;
}

/* Makes the table of the changed rows of a section, or of all rows with --all, the most important first. Returns 0, or
 * -1: no memory. The caller releases MADE in both cases. */
static int make_section(struct made_table *made, const struct diff *diff, unsigned section)
{
    static const int amounts[] = {DIFFERENCE, EACH_BEFORE, EACH_AFTER, TOTAL_BEFORE, TOTAL_AFTER};
    if (table_init(made, section_columns, COLUMNS, section_list[section].word) < 0)
        return -1;
    snprintf(made->title, sizeof(made->title), "%s",
             section == REPORT_TIME && diff->by_steps ? "Where a step goes" : section_list[section].title);
    for (size_t i = 0; i < sizeof(amounts) / sizeof(*amounts); i++)
        made->columns[amounts[i]].type = diff_type(section);
    if (!diff_comparable(section)->each)
        made->columns[DIFFERENCE].flags |= COLUMN_MACHINE; /* without occurrences, before and after are totals */
    return add_rows(made, diff, section) < 0 ? -1 : table_end(made, diff);
}

int diff_check_columns(const struct report_options *options)
{
    static const struct report_columns tables[] = {{term_columns, TERM_COLUMNS}, {section_columns, COLUMNS}};
    return report_check_columns(options, tables, sizeof(tables) / sizeof(*tables));
}

/* --- formats --- */

struct writing {
    const struct diff *diff;
    const struct diff_outcome *outcomes;
    struct render render;
    bool markdown, json;
    struct buffer unchanged, more; /* names of sections without a change, and of sections that are not shown */
};

/* --- lines above the tables --- */

static void write_lines(struct writing *writing, diff_receiver *receive, void *context)
{
    struct buffer text;
    buffer_init_memory(&text);
    diff_lines(writing->diff, receive, context);
    diff_notes(writing->diff, receive, context);
    for (size_t i = 0; i < writing->diff->options->conditions.count; i++) {
        diff_outcome_write(&text, writing->diff, &writing->outcomes[i]);
        diff_end_line(&text, receive, context);
    }
    buffer_release(&text);
}

static int write_table(struct writing *writing, struct made_table *made, int status)
{
    bool for_people = writing->diff->options->format == DIFF_TABLE || writing->markdown;
    const char *word = status < 0 ? "" : made->table->word;
    /* The table is on the first screen. */
    bool usual = strcmp(word, writing->diff->by_steps ? "time" : "parts") == 0 || strcmp(word, "findings") == 0 ||
                 strcmp(word, "kernels") == 0;
    if (status < 0)
        error_no_memory("a comparison");
    else if (made->table->shown == 0 && for_people)
        buffer_format(&writing->unchanged, "%s%s", writing->unchanged.length ? ", " : "No change: ", word);
    else if (writing->render.options->usual && !usual)
        buffer_format(&writing->more, "%s%s", writing->more.length ? ", " : "More changes (-r LIST, -r all): ", word);
    else
        report_put_table(&writing->render, made->table);
    release_table(made);
    return status;
}

static int write_tables(struct writing *writing)
{
    struct made_table made;
    int status = write_table(writing, &made, make_terms(&made, writing->diff));
    writing->more.length = 0; /* the table of terms is shown with any section of -r */
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && status == 0; i++)
        if (writing->diff->compared[i])
            status = write_table(writing, &made, make_section(&made, writing->diff, i));
    return status;
}

static void receive_line(void *context, const char *text)
{
    struct writing *writing = context;
    render_line(&writing->render, text);
    if (writing->markdown)
        buffer_char(writing->render.out, '\n');
}

/* --- json --- */

static void write_paths(struct json_out *json, const struct diff *diff, enum diff_side side, const char *key)
{
    json_key_array(json, key);
    for (size_t i = 0; i < diff->options->counts[side]; i++)
        json_string(json, diff->options->paths[side][i]);
    json_end(json);
}

static void write_text(struct json_out *json, struct buffer *text)
{
    buffer_char(text, '\0');
    json_string(json, buffer_finish(text) == 0 ? text->data : NULL);
    buffer_release(text);
}

static void receive_json(void *context, const char *text)
{
    json_string(context, text);
}

static void put_double(struct json_out *json, const char *key, double value)
{
    json_key(json, key);
    json_double(json, value, -1);
}

static void write_whole(struct json_out *json, const char *key, const struct diff_test *test)
{
    json_key(json, key);
    json_begin_object_flat(json);
    put_double(json, "before_ns", test->before);
    put_double(json, "after_ns", test->after);
    put_double(json, "change_percent", diff_percent(test->log.value));
    put_double(json, "margin_percent", 100 * test->log.margin);
    put_double(json, "p", test->log.p);
    json_put_text(json, "sure", diff_sure_word(diff_sure_alone(test)));
    json_end(json);
}

static int write_json(struct writing *writing)
{
    const struct diff *diff = writing->diff;
    struct json_out *json = &writing->render.json;
    struct buffer summary;
    writing->render.format->begin(&writing->render);
    json_begin_object(json);
    write_paths(json, diff, BEFORE, "before");
    write_paths(json, diff, AFTER, "after");
    buffer_init_memory(&summary);
    diff_write_summary(&summary, diff);
    json_key(json, "summary");
    write_text(json, &summary);
    json_key_array(json, "notes");
    diff_notes(diff, receive_json, json);
    json_end(json);
    write_whole(json, "total", &diff->span);
    write_whole(json, "gpu_busy", &diff->busy);
    write_whole(json, "gpu_idle", &diff->idle);
    json_key_array(json, "conditions");
    for (size_t i = 0; i < diff->options->conditions.count; i++) {
        const struct diff_outcome *outcome = &writing->outcomes[i];
        struct buffer text;
        buffer_init_memory(&text);
        diff_outcome_write(&text, diff, outcome);
        json_begin_object_flat(json);
        json_put_text(json, "condition", outcome->condition->text);
        json_key(json, "met");
        json_bool(json, outcome->met);
        json_key(json, "text");
        write_text(json, &text);
        json_end(json);
    }
    json_end(json);
    int status = write_tables(writing);
    json_end(json);
    writing->render.format->end(&writing->render);
    return status;
}

/* --- html: a chapter of a page (page.h) --- */

static void receive_page(void *page, const char *text)
{
    page_text(page, text);
}

static void write_files(struct page *page, const struct diff *diff, enum diff_side side, const char *key)
{
    json_key_array(&page->json, key);
    for (size_t i = 0; i < diff->options->counts[side]; i++)
        page_text(page, diff->options->paths[side][i]);
    json_end(&page->json);
}

static int write_page(struct writing *writing)
{
    struct page *page = &writing->render.page;
    writing->render.format->begin(&writing->render);
    page_init(page);
    json_begin_object(&page->json);
    page_put_text(page, "version", GPUTRACE_VERSION);
    write_files(page, writing->diff, BEFORE, "before");
    write_files(page, writing->diff, AFTER, "after");
    json_key_array(&page->json, "lines");
    write_lines(writing, receive_page, page);
    json_end(&page->json);
    page_begin_tables(page);
    int status = write_tables(writing);
    json_end(&page->json);
    page_end(page, writing->render.out);
    writing->render.format->end(&writing->render);
    return status;
}

int diff_write(const struct diff *diff, const struct diff_outcome *outcomes, struct buffer *out)
{
    static const struct renderer *const renderers[] = {[DIFF_TABLE] = &renderer_table,
                                                       [DIFF_CSV] = &renderer_csv,
                                                       [DIFF_JSON] = &renderer_json,
                                                       [DIFF_MARKDOWN] = &renderer_markdown,
                                                       [DIFF_HTML] = &renderer_html};
    enum diff_format format = diff->options->format;
    struct writing writing = {
        .diff = diff,
        .outcomes = outcomes,
        .render = {.format = renderers[format], .out = out, .options = &diff->options->report, .several_tables = true},
        .markdown = format == DIFF_MARKDOWN,
    };
    buffer_init_memory(&writing.unchanged);
    buffer_init_memory(&writing.more);
    bool for_people = format == DIFF_TABLE || format == DIFF_MARKDOWN;
    if (for_people) {
        write_lines(&writing, receive_line, &writing);
        writing.render.any = !writing.markdown; /* an empty line comes before the first table */
        writing.render.lines += 3;              /* there are more lines below the tables than in a report */
    }
    int status = format == DIFF_JSON   ? write_json(&writing)
                 : format == DIFF_HTML ? write_page(&writing)
                                       : write_tables(&writing);
    struct buffer *lists[] = {&writing.more, &writing.unchanged};
    if (for_people && (lists[0]->length || lists[1]->length))
        buffer_char(out, '\n');
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists) && for_people; i++)
        if (lists[i]->length)
            diff_end_line(lists[i], receive_line, &writing);
    buffer_release(&writing.unchanged);
    buffer_release(&writing.more);
    return status;
}
