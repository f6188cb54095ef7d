/*
 * Writes the lines and the tables of a comparison through the renderers of reports; JSON and HTML have a frame of their
 * own.
 */
#include "analysis/diff/diff_write.h"

#include <string.h>

#include "common/buffer.h"
#include "common/log.h"
#include "analysis/diff/diff_judge.h"
#include "analysis/diff/diff_notes.h"
#include "analysis/diff/diff_tables.h"
#include "analysis/diff/diff_words.h"
#include "analysis/render/render.h"
#include "analysis/render/render_paragraphs.h"
#include "analysis/report.h"
#include "analysis/base/table.h"

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

/* --- tables, of all formats --- */

static void leave_out(struct buffer *list, const char *label, const char *word)
{
    buffer_format(list, "%s%s", list->length ? ", " : label, word);
}

/* Whether the table WORD is on the first screen. */
static bool is_usual(const struct diff *diff, const char *word)
{
    return strcmp(word, diff->by_steps ? "time" : "parts") == 0 || strcmp(word, "findings") == 0 ||
           strcmp(word, "kernels") == 0;
}

static int write_table(struct writing *writing, struct diff_table *made, int status)
{
    bool for_people = writing->diff->options->format == DIFF_TABLE || writing->markdown;
    if (status < 0)
        error_no_memory("a comparison");
    else if (made->table->shown == 0 && for_people)
        leave_out(&writing->unchanged, "No change: ", made->table->word);
    else if (writing->render.options->usual && !is_usual(writing->diff, made->table->word))
        leave_out(&writing->more, "More changes (-r LIST, -r all): ", made->table->word);
    else
        report_put_table(&writing->render, made->table);
    diff_table_release(made);
    return status;
}

static int write_tables(struct writing *writing)
{
    struct diff_table made;
    int status = write_table(writing, &made, diff_table_terms(&made, writing->diff));
    writing->more.length = 0; /* the table of terms is shown with any section of -r */
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && status == 0; i++)
        if (writing->diff->compared[i])
            status = write_table(writing, &made, diff_table_section(&made, writing->diff, i));
    return status;
}

/* --- table and markdown --- */

static void receive_line(void *context, const char *text)
{
    struct writing *writing = context;
    render_line(&writing->render, text);
    if (writing->markdown)
        buffer_char(writing->render.out, '\n');
}

static int write_for_people(struct writing *writing)
{
    write_lines(writing, receive_line, writing);
    writing->render.any = !writing->markdown; /* an empty line comes before the first table */
    writing->render.lines += 3;               /* there are more lines below the tables than in a report */
    int status = write_tables(writing);
    struct buffer *lists[] = {&writing->more, &writing->unchanged};
    if (lists[0]->length || lists[1]->length)
        buffer_char(writing->render.out, '\n');
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        if (lists[i]->length)
            diff_end_line(lists[i], receive_line, writing);
    return status;
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

static void write_conditions(struct writing *writing, struct json_out *json)
{
    json_key_array(json, "conditions");
    for (size_t i = 0; i < writing->diff->options->conditions.count; i++) {
        const struct diff_outcome *outcome = &writing->outcomes[i];
        struct buffer text;
        buffer_init_memory(&text);
        diff_outcome_write(&text, writing->diff, outcome);
        json_begin_object_flat(json);
        json_put_text(json, "condition", outcome->condition->text);
        json_key(json, "met");
        json_bool(json, outcome->met);
        json_key(json, "text");
        write_text(json, &text);
        json_end(json);
    }
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
    write_conditions(writing, json);
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
    int status = format == DIFF_JSON   ? write_json(&writing)
                 : format == DIFF_HTML ? write_page(&writing)
                 : format == DIFF_CSV  ? write_tables(&writing)
                                       : write_for_people(&writing);
    buffer_release(&writing.unchanged);
    buffer_release(&writing.more);
    return status;
}
