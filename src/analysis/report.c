#include "analysis/report.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/buffer.h"
#include "common/text.h"
#include "common/threads.h"
#include "analysis/headline.h"
#include "analysis/model/filter.h"
#include "analysis/findings/findings.h"
#include "analysis/base/heap.h"
#include "analysis/model/names.h"
#include "trace/build/sources.h"
#include "analysis/render/render.h"
#include "analysis/model/section.h"

static const struct renderer *const renderers[] = {
    [REPORT_TABLE] = &renderer_table,       [REPORT_CSV] = &renderer_csv,   [REPORT_JSON] = &renderer_json,
    [REPORT_MARKDOWN] = &renderer_markdown, [REPORT_HTML] = &renderer_html,
};

static int read_trace(const struct report_options *options, const char *path, struct interner *strings,
                      const struct fields_receiver *receiver)
{
    struct sink *sink = fields_sink_new(strings, receiver);
    const struct sources_options source = {.workers = options->workers, .namer = options->namer};
    int status = sink ? sources_read(path, sink, &source) : -1;
    fields_sink_free(sink);
    return status;
}

/* --- what is known only after a trace was read: the time that --snapshot names, and what filters select --- */

#define TIME_TEXT 32

static int read_first_event(void *context, struct event_fields *event)
{
    return trace_event(context, event) < 0 || trace_gpu_op(context, event) < 0 ? error_no_memory("the trace's rows")
                                                                               : 0;
}

static int read_first_metadata(void *context, const char *key, const struct cJSON *value)
{
    return trace_metadata(context, key, value) < 0 ? error_no_memory("the trace's metadata") : 0;
}

static int check_readable_twice(const struct report_options *options, const char *path)
{
    const char *what = options->has_snapshot ? "a snapshot" : "a part of a trace";
    struct stat file;
    if (strcmp(path, "-") == 0)
        return error("%s needs a file: standard input cannot be read twice", what);
    if (stat(path, &file) == 0 && !S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode))
        return error("%s needs a file: '%s' cannot be read twice", what, path);
    return 0;
}

/* Reads the trace at PATH once, quietly, as warnings come with the second time. Returns 0, or -1 after error(). */
static int read_first(const struct report_options *options, const char *path, struct trace *first)
{
    struct fields_receiver receiver = {.context = first, .event = read_first_event, .metadata = read_first_metadata};
    enum log_level level = log_level();
    if (check_readable_twice(options, path) < 0)
        return -1;
    log_set_level(LOG_QUIET);
    int status = read_trace(options, path, &first->strings, &receiver);
    log_set_level(level);
    if (status < 0)
        return status;
    return trace_finish(first, ordered_loop_workers(options->workers, 2)) < 0 ? error_no_memory("a report") : 0;
}

/* FILTER and the trace's heap get what they need of a first reading. */
static int learn(struct filter *filter, struct sections *sections, const char *path)
{
    struct trace *trace = &sections->trace, first;
    const struct report_options *options = trace->options;
    bool snapshot = trace->heap && options->has_snapshot;
    if (!snapshot && !filter_reads_twice(&options->filter))
        return 0;
    trace_init(&first, options);
    filter_want(&options->filter, &first);
    int status = read_first(options, path, &first);
    if (status == 0)
        status = filter_learn(filter, &first, path);
    int64_t start = trace->window.any ? trace->window.first : first.start;
    if (snapshot && __builtin_add_overflow(start, options->snapshot, &trace->heap->asked_at))
        trace->heap->asked_at = options->snapshot < 0 ? INT64_MIN : INT64_MAX;
    trace_release(&first);
    return status;
}

/* "1.5 s" */
static void write_time(char text[TIME_TEXT], int64_t ns)
{
    static const struct {
        const char *word;
        int64_t ns;
    } units[] = {{"s", NS_PER_S}, {"ms", NS_PER_MS}, {"µs", NS_PER_US}, {"ns", 1}};
    size_t i = 0;
    while (ns < units[i].ns && i + 1 < sizeof(units) / sizeof(*units))
        i++;
    snprintf(text, TIME_TEXT, "%.9g %s", (double)ns / (double)units[i].ns, units[i].word);
}

/* The title of the section: "Memory allocated at 1.5 s"; it says so when the time ASKED for is beyond the end of the
 * trace, SPAN ns after its start. */
static void snapshot_title(char *title, size_t size, int64_t asked, int64_t span)
{
    char time[TIME_TEXT], end[TIME_TEXT];
    write_time(time, asked);
    write_time(end, span);
    if (asked <= span)
        snprintf(title, size, "Memory allocated at %s", time);
    else
        snprintf(title, size, "Memory allocated at the end of the trace, %s (--snapshot asked for %s)", end, time);
}

/* --- one trace --- */

static struct event_fields *place_event(void *context)
{
    return dispatcher_place(&((struct sections *)context)->dispatcher);
}

static int read_event(void *context, struct event_fields *event)
{
    struct sections *sections = context;
    if (event->category == CATEGORY_KERNEL && name_change(&sections->trace, event) < 0)
        return error_no_memory("names");
    return dispatcher_event(&sections->dispatcher, event);
}

static int read_run(void *context, const struct event_run *run)
{
    return dispatcher_run(&((struct sections *)context)->dispatcher, run);
}

static int give_event(void *context, const struct event_fields *event)
{
    return dispatcher_event(&((struct sections *)context)->dispatcher, event);
}

/* Of a report with filters. */
struct filtering {
    struct filter filter;
    struct sections *sections;
};

static struct event_fields *place_filtered(void *context)
{
    return place_event(((struct filtering *)context)->sections);
}

static int read_filtered(void *context, struct event_fields *event)
{
    struct filtering *filtering = context;
    uint32_t full_name = event->name;
    if (event->category == CATEGORY_KERNEL && name_change(&filtering->sections->trace, event) < 0)
        return error_no_memory("names");
    return filter_event(&filtering->filter, event, full_name);
}

static int read_metadata(void *context, const char *key, const struct cJSON *value)
{
    struct sections *sections = context;
    if (dispatcher_wait(&sections->dispatcher) < 0)
        return -1;
    return trace_metadata(&sections->trace, key, value) < 0 ? error_no_memory("the trace's metadata") : 0;
}

static int read_filtered_metadata(void *context, const char *key, const struct cJSON *value)
{
    return read_metadata(((struct filtering *)context)->sections, key, value);
}

/* The column of a section that its rows are sorted by; -1: none. */
static int sort_column(const struct report_options *options, const struct section *section)
{
    int column = options->sort ? table_find_column(section->columns, section->column_count, options->sort) : -1;
    if (column < 0 && section->sort)
        column = table_find_column(section->columns, section->column_count, section->sort);
    return column;
}

int report_fill(struct sections *sections, unsigned number, struct table *table)
{
    /* Whether --trace left out all of something that the section is made of. */
    const uint64_t *sources = sections->all[number].section->sources;
    table->unrecorded = false;
    for (size_t i = 0; i < SECTION_SOURCES; i++)
        table->unrecorded |= sources[i] && !(sources[i] & ~sections->trace.unrecorded);
    return table->unrecorded ? 0 : sections_fill(sections, number, table);
}

static size_t rows_shown(const struct report_options *options, const struct section *section)
{
    if (options->top != REPORT_TOP_OWN)
        return options->top;
    return options->usual && section->usual ? section->usual : REPORT_TOP_FOR_PEOPLE;
}

/* The first screen has so many lines, and findings take at most so many of them. */
#define SCREEN_LINES 38 /* with two for the last line */
#define SCREEN_FINDINGS 21

/* Writes TABLE to TEXT. Returns how many lines that are. */
static size_t write_lines(struct render *render, const struct table *table, struct buffer *text)
{
    size_t lines = 0;
    text->length = 0;
    render->format->table(render, table);
    for (size_t i = 0; i < text->length; i++)
        lines += text->data[i] == '\n';
    return lines;
}

void report_put_table(struct render *render, struct table *table)
{
    if (!render->options->usual) {
        render->format->table(render, table);
        return;
    }
    struct buffer *out = render->out, text;
    size_t left = SCREEN_LINES > render->lines ? SCREEN_LINES - render->lines : 0;
    size_t most = table->paragraphs && left > SCREEN_FINDINGS ? SCREEN_FINDINGS : left;
    buffer_init_memory(&text);
    render->out = &text;
    size_t lines = write_lines(render, table, &text);
    while (lines > most && table->shown > 1 && render->options->top == REPORT_TOP_OWN) {
        table->shown--;
        lines = write_lines(render, table, &text);
    }
    render->out = out;
    render->lines += lines;
    buffer_bytes(out, text.data ? text.data : "", text.length);
    out->failure = out->failure ? out->failure : text.failure;
    buffer_release(&text);
}

int report_write_table(struct render *render, struct table *table, const char *sort, size_t usual)
{
    const struct report_options *options = render->options;
    int column = options->sort ? table_find_column(table->columns, table->column_count, options->sort) : -1;
    if (column < 0 && sort)
        column = table_find_column(table->columns, table->column_count, sort);
    size_t top = options->usual && usual ? usual : REPORT_TOP_FOR_PEOPLE;
    int status = table->no_memory ? -1 : table_sort(table, column, options->top != REPORT_TOP_OWN ? options->top : top);
    if (status == 0)
        status = table_choose(table, options->columns);
    if (status < 0 || table->no_memory)
        return error_no_memory(table->word);
    report_put_table(render, table);
    return 0;
}

struct render report_render(const struct report_options *options, struct buffer *out)
{
    uint64_t wanted = options->sections ? options->sections : REPORT_BIT(REPORT_SECTION_COUNT) - 1;
    return (struct render){.format = renderers[options->format],
                           .out = out,
                           .options = options,
                           .several_tables = (wanted & (wanted - 1)) != 0};
}

static int write_section(struct sections *sections, unsigned number, struct render *render)
{
    const struct section *section = sections->all[number].section;
    char title[160];
    snapshot_title(title, sizeof(title), render->options->snapshot, trace_span(&sections->trace));
    const struct trace_said said = trace_said(&sections->trace, section_list[number].title);
    const struct trace_said none = trace_said(&sections->trace, section->none ? section->none : "");
    struct table table = {
        .word = section_list[number].word,
        .title = section == &section_memory_snapshot ? title : said.text,
        .columns = section->columns,
        .column_count = section->column_count,
        .listing = section->listing,
        .headed = section->headed,
        .part = section_list[number].part_of != number && sections->all[section_list[number].part_of].shown,
        .paragraphs = section->paragraphs,
        .none = section->none ? none.text : NULL,
    };
    const struct trace *trace = &sections->trace;
    int status = report_fill(sections, number, &table);
    uint64_t looked_at = table.rows > 0 ? section->parts : 0;
    for (size_t i = 0; i < SECTION_SOURCES; i++)
        looked_at |= section->sources[i];
    trace_bit_words(looked_at & trace->unrecorded, table.missing, sizeof(table.missing));
    if (status == 0 && !table.no_memory)
        status = table_sort(&table, sort_column(trace->options, section), rows_shown(trace->options, section));
    if (status == 0 && !table.no_memory)
        status = table_choose(&table, trace->options->columns);
    if (status < 0 || table.no_memory)
        status = error_no_memory(table.word);
    else
        report_put_table(render, &table);
    table_release(&table);
    return status;
}

static int write_report(struct sections *sections, const char *path, struct render *render)
{
    int status = 0;
    char missing[TABLE_MISSING];
    trace_bit_words(sections->trace.unrecorded, missing, sizeof(missing));
    render->trace = &sections->trace;
    if (render->format->trace_begin)
        render->format->trace_begin(render, path, missing);
    if (render->options->usual && headline_write(render, &sections->trace, path) < 0)
        return error_no_memory("a report");
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && status == 0; i++)
        if (sections->all[i].shown)
            status = write_section(sections, i, render);
    if (render->format->trace_end)
        render->format->trace_end(render);
    return status;
}

/* Gives the sections the events of the trace, all or those that the filters select. */
static int read_events(struct sections *sections, const char *path)
{
    struct trace *trace = &sections->trace;
    const struct report_options *options = trace->options;
    const struct fields_receiver all = {.context = sections,
                                        .place = place_event,
                                        .event = read_event,
                                        .run = names_are_changed(options) ? NULL : read_run,
                                        .metadata = read_metadata};
    struct filtering filtering = {.sections = sections};
    const struct fields_receiver some = {
        .context = &filtering, .place = place_filtered, .event = read_filtered, .metadata = read_filtered_metadata};
    bool filtered = filter_wanted(&options->filter);
    int status = filter_init(&filtering.filter, &options->filter, trace, give_event, sections);
    if (status == 0)
        status = learn(&filtering.filter, sections, path);
    if (status == 0)
        status = read_trace(options, path, &trace->strings, filtered ? &some : &all);
    if (status == 0 && filtered)
        status = filter_finish(&filtering.filter, path, options->selected);
    if (status == 0)
        status = sections_finish(sections);
    filter_release(&filtering.filter);
    return status;
}

/* Returns 0, REPORT_FAILED_ON or -1. */
static int check_findings(struct sections *sections, const char *ids)
{
    struct table unseen = {.columns = section_findings.columns, .column_count = section_findings.column_count};
    int status = sections->all[REPORT_FINDINGS].shown ? 0 : sections_fill(sections, REPORT_FINDINGS, &unseen);
    table_release(&unseen);
    if (status < 0)
        return error_no_memory("findings");
    return findings_include(sections->states[REPORT_FINDINGS], ids) ? REPORT_FAILED_ON : 0;
}

int report_read(struct sections *sections, const struct report_options *options, const char *path)
{
    int status = sections_init(sections, options);
    return status == 0 ? read_events(sections, path) : status;
}

static int report_file(const struct report_options *options, const char *path, struct render *render)
{
    struct sections sections;
    int status = report_read(&sections, options, path);
    if (status == 0 && options->has_snapshot && sections.all[REPORT_MEMORY].shown) {
        /* The formats that have no titles get a warning. */
        char time[TIME_TEXT], end[TIME_TEXT];
        write_time(time, options->snapshot);
        write_time(end, trace_span(&sections.trace));
        if (options->snapshot > trace_span(&sections.trace))
            warning("'%s' ends at %s, before the %s of --snapshot: showing what was allocated at its end", path, end,
                    time);
    }
    if (status == 0)
        status = write_report(&sections, path, render);
    if (status == 0 && options->fail_on)
        status = check_findings(&sections, options->fail_on);
    sections_release(&sections);
    return status;
}

int report_check_selected(const struct report_options *options)
{
    if (!options->selected || !filter_wanted(&options->filter) || atomic_load(options->selected))
        return 0;
    return error("none of the traces has what is selected: see the warnings");
}

/* LIST has the names there are, with commas between; WHAT the column was asked for. */
static int error_no_column(const char *given, const char *what, const char *list)
{
    char words[1024];
    struct suggestion nearest = suggestion_for(given, strlen(given));
    snprintf(words, sizeof(words), "%s", list);
    for (char *rest = words, *word; (word = strsep(&rest, ","));)
        suggestion_consider(&nearest, word + strspn(word, " "));
    if (nearest.word)
        return error("no column '%s' to %s: did you mean '%s'? These sections have %s", given, what, nearest.word,
                     list);
    return error("no column '%s' to %s: these sections have %s", given, what, list);
}

/* The ids of --fail-on are known. */
static int check_rules(const char *ids)
{
    char words[1024];
    for (size_t length; ids && *ids; ids += length + (ids[length] == ',')) {
        length = strcspn(ids, ",");
        if (finding_rule(ids, length) || (length == strlen("any") && strncmp(ids, "any", length) == 0))
            continue;
        finding_rule_words(words, sizeof(words));
        return error("no finding '%.*s' to fail on: there are %s", (int)length, ids, words);
    }
    return 0;
}

void report_list_columns(const struct report_columns *tables, size_t count, char *text, size_t size)
{
    *text = '\0';
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < tables[i].count; k++) {
            const char *word = tables[i].columns[k].word;
            size_t before = 0;
            while (before < i && table_find_column(tables[before].columns, tables[before].count, word) < 0)
                before++;
            if (before == i)
                text_list_add(text, size, word);
        }
}

/* Looks for a column called WORD in COUNT tables. Returns 0, or -1 after an error that lists the columns. */
static int check_column(const struct report_columns *tables, size_t count, const char *word, const char *what)
{
    char list[1024];
    for (size_t i = 0; i < count; i++)
        if (table_find_column(tables[i].columns, tables[i].count, word) >= 0)
            return 0;
    report_list_columns(tables, count, list, sizeof(list));
    return *list ? error_no_column(word, what, list) : error("cannot %s '%s': these sections have none", what, word);
}

int report_check_columns(const struct report_options *options, const struct report_columns *tables, size_t count)
{
    char word[64];
    if (options->sort && check_column(tables, count, options->sort, "sort by") < 0)
        return -1;
    if (!options->columns || strcmp(options->columns, "all") == 0)
        return 0;
    for (const char *at = options->columns;; at++) {
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof(word), "%.*s", (int)(length < sizeof(word) ? length : sizeof(word)), at);
        if (check_column(tables, count, word, "show") < 0)
            return -1;
        at += length;
        if (*at == '\0')
            return 0;
    }
}

/* Sets TABLES to those of the wanted sections that have columns. Returns how many. */
static size_t section_tables(const struct report_options *options, struct report_columns *tables)
{
    size_t count = 0;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
        const struct section *section = section_wanted(options, i);
        if (section && !section->listing)
            tables[count++] = (struct report_columns){section->columns, section->column_count};
    }
    return count;
}

void report_column_words(char *text, size_t size)
{
    struct report_columns tables[REPORT_SECTION_COUNT];
    size_t count = section_tables(&(struct report_options){0}, tables);
    report_list_columns(tables, count, text, size);
}

int report_check(const struct report_options *options, const struct report_columns *more, size_t count)
{
    struct report_columns tables[REPORT_SECTION_COUNT + REPORT_MORE_TABLES];
    if (check_rules(options->fail_on) < 0 || filter_check(&options->filter) < 0)
        return -1;
    size_t known = section_tables(options, tables);
    for (size_t i = 0; i < count && i < REPORT_MORE_TABLES; i++)
        tables[known++] = more[i];
    return report_check_columns(options, tables, known);
}

int report_files(const struct report_options *options, const char *const *paths, size_t count, struct buffer *out)
{
    struct render render = report_render(options, out);
    int status = report_check(options, NULL, 0);
    render.several_traces = count > 1;
    if (status < 0)
        return status;
    if (render.format->begin)
        render.format->begin(&render);
    bool failed_on = false;
    for (size_t i = 0; i < count && status == 0; i++) {
        status = report_file(options, paths[i], &render);
        failed_on |= status == REPORT_FAILED_ON;
        status = status < 0 ? status : 0;
    }
    if (status == 0 && render.format->end)
        render.format->end(&render);
    return status == 0 && failed_on ? REPORT_FAILED_ON : status;
}
