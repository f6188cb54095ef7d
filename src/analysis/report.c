/* Reads a trace (twice for some filters), passes its events to the sections, and writes their tables. */
#include "analysis/report.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/buffer.h"
#include "common/text.h"
#include "common/threads.h"
#include "analysis/engine/trace_known.h"
#include "analysis/engine/trace_reader.h"
#include "analysis/selection/filter.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/heap.h"
#include "trace/fields_receiver.h"
#include "trace/meaning/sources.h"
#include "analysis/summary/findings_table.h"
#include "analysis/summary/section_findings.h"
#include "analysis/engine/section.h"

static const struct renderer *const renderers[] = {
    [REPORT_TABLE] = &renderer_table,       [REPORT_CSV] = &renderer_csv,   [REPORT_JSON] = &renderer_json,
    [REPORT_MARKDOWN] = &renderer_markdown, [REPORT_HTML] = &renderer_html,
};

/* --- the first reading of a trace, for the time of --snapshot and for filters --- */

#define TIME_TEXT 32

/* Reads the trace at PATH a first time into FIRST. Warnings are suppressed because the second reading prints them.
 * RECEIVE is called with FIRST and each event. Returns 0, or -1 after error(). */
static int read_first(const struct report_options *options, const char *path, struct trace *first,
                      int (*receive)(void *first, struct event_fields *event))
{
    const struct fields_receiver receiver = {.context = first, .event = receive, .metadata = trace_receive_metadata};
    const struct sources_options source = {.workers = options->workers, .namer = options->namer};
    const char *what = options->has_snapshot ? "a snapshot" : "a part of a trace";
    struct stat file;
    if (strcmp(path, "-") == 0)
        return error("%s needs a file: standard input cannot be read twice", what);
    if (stat(path, &file) == 0 && !S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode))
        return error("%s needs a file: '%s' cannot be read twice", what, path);
    bool quiet = messages_quiet(true);
    int status = sources_read_fields(path, &first->strings, &receiver, &source);
    messages_quiet(quiet);
    if (status < 0)
        return status;
    return trace_finish(first, ordered_loop_workers(options->workers, 2)) < 0 ? error_no_memory("a report") : 0;
}

/* Ends the reading by returning -1 once an event takes or marks time. */
static int receive_one_event(void *context, struct event_fields *event)
{
    const struct trace *first = context;
    return trace_receive_event(context, event) < 0 || first->times.any || first->gpu_op_times.any ? -1 : 0;
}

bool report_can_read(const char *path)
{
    const struct report_options options = {.workers = 1};
    struct trace first;
    trace_init(&first, &options);
    bool can = read_first(&options, path, &first, receive_one_event) == 0 || first.times.any || first.gpu_op_times.any;
    trace_release(&first);
    return can;
}

int report_has_rank(const struct report_options *options, const char *path, struct filter_found *found)
{
    struct trace first;
    trace_init(&first, options);
    int status = read_first(options, path, &first, trace_receive_event), has = 0;
    for (size_t i = 0; i < first.ranks.count && status == 0; i++) {
        has |= first.ranks.items[i].rank == options->filter.rank.number;
        status = filter_found_note(found, &options->filter, FILTER_RANK, first.ranks.items[i].rank);
    }
    trace_release(&first);
    return status < 0 ? status : has;
}

int report_write_part(const struct filter_options *filter, const char *input, const char *output,
                      struct filter_missed *missed, struct convert_summary *summary)
{
    const struct report_options options = {.filter = *filter};
    bool ranged = filter->range || filter->step.given;
    struct windows times = {0};
    struct trace first;
    trace_init(&first, &options);
    filter_scan_want(filter, &first);
    int status = ranged ? read_first(&options, input, &first, trace_receive_event) : 0;
    if (status == 0 && ranged)
        status = filter_scan_windows(filter, &first, input, missed, &times);
    for (size_t i = 0; i < times.items.count && first.start < 0; i++) { /* the times of a written trace begin at 0 */
        times.items.items[i].start -= first.start;
        times.items.items[i].end -= first.start;
    }
    trace_release(&first);
    if (status == 0)
        status = convert_part(input, output, filter, ranged ? &times : NULL, missed, summary);
    windows_release(&times);
    return status;
}

/* Reads the trace a first time, if the filter or the snapshot of the heap needs it. */
static int scan_first(struct filter *filter, struct sections *sections, const char *path)
{
    struct trace *trace = &sections->trace, first;
    const struct report_options *options = trace->options;
    bool snapshot = trace->heap && options->has_snapshot;
    if (!snapshot && !filter_reads_twice(&options->filter))
        return 0;
    trace_init(&first, options);
    filter_scan_want(&options->filter, &first);
    int status = read_first(options, path, &first, trace_receive_event);
    status = status ?: filter_scan_apply(filter, &first, path);
    int64_t start = trace->window.any ? trace->window.first : first.start;
    if (snapshot && __builtin_add_overflow(start, options->snapshot, &trace->heap->asked_at))
        trace->heap->asked_at = options->snapshot < 0 ? INT64_MIN : INT64_MAX;
    trace_release(&first);
    return status;
}

/* Writes a time such as "1.5 s". */
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

/* --- one trace --- */

/* A trace that is being read. If FILTERED, only the events that the filter passes on reach the sections. */
struct reading {
    struct sections *sections;
    struct filter filter;
    bool filtered;
};

static struct event_fields *place_event(void *context)
{
    return dispatcher_place(&((struct reading *)context)->sections->dispatcher);
}

static int read_event(void *context, struct event_fields *event)
{
    struct reading *reading = context;
    uint32_t full_name = event->name;
    if (event->category == CATEGORY_KERNEL && trace_name_kernel(&reading->sections->trace, event) < 0)
        return error_no_memory("names");
    return reading->filtered ? filter_event(&reading->filter, event, full_name)
                             : dispatcher_event(&reading->sections->dispatcher, event);
}

static int read_batch(void *context, struct event_batch *batch)
{
    return dispatcher_batch(&((struct reading *)context)->sections->dispatcher, batch);
}

static int pass_event(void *context, const struct event_fields *event)
{
    return dispatcher_event(&((struct sections *)context)->dispatcher, event);
}

static int read_metadata(void *context, const char *key, const struct cJSON *value)
{
    struct sections *sections = ((struct reading *)context)->sections;
    return dispatcher_wait(&sections->dispatcher) < 0 ? -1 : trace_receive_metadata(&sections->trace, key, value);
}

int report_fill(struct sections *sections, unsigned number, struct table *table)
{
    /* The section counts as unrecorded if --trace left out all bits of one of its sources. */
    const uint64_t *sources = sections->all[number].section->sources;
    table->unrecorded = false;
    for (size_t i = 0; i < SECTION_SOURCES; i++)
        table->unrecorded |= sources[i] && !(sources[i] & ~sections->trace.unrecorded);
    return table->unrecorded ? 0 : sections_fill(sections, number, table);
}

/* The most lines of the first screen, and the most lines of findings in it. */
#define SCREEN_LINES 38 /* two more are for the last line */
#define SCREEN_FINDINGS 21

/* Writes TABLE to TEXT. Returns the number of lines. */
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
    status = status ?: table_choose(table, options->columns);
    if (status < 0 || table->no_memory)
        return error_no_memory(table->word);
    /* It is an error if no row has a value in any column that the user chose. */
    char list[1024] = "";
    bool any = !table->chosen || table->shown == 0 || options->format == REPORT_CSV || options->format == REPORT_JSON;
    for (size_t i = 0; i < table_view_count(table) && !any; i++)
        any = !table_column_empty(table, table_view(table, i));
    for (size_t i = 0; i < table->column_count && !any; i++)
        if (!table_column_empty(table, i))
            text_list_add(list, sizeof(list), table->columns[i].word);
    if (!any)
        return error("'%s': section '%s' has nothing in columns '%s': it has %s", render->path, table->word,
                     options->columns, list);
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
    char time[TIME_TEXT], end[TIME_TEXT];
    write_time(time, sections->trace.options->snapshot);
    write_time(end, trace_span(&sections->trace));
    if (sections->trace.options->snapshot <= trace_span(&sections->trace))
        snprintf(title, sizeof(title), "Memory allocated at %s", time);
    else
        snprintf(title, sizeof(title), "Memory allocated at the end of the %s, %s (--snapshot asked for %s)",
                 filter_wanted(&sections->trace.options->filter) ? "part" : "trace", end, time);
    const struct trace_phrase title_words = trace_phrase(&sections->trace, section_list[number].title);
    const struct trace_phrase none = trace_phrase(&sections->trace, section->none ? section->none : "");
    struct table table = {
        .word = section_list[number].word,
        .title = section == &section_memory_snapshot ? title : title_words.text,
        .columns = section->columns,
        .column_count = section->column_count,
        .listing = section->listing,
        .headed = section->headed,
        .part = section_list[number].part_of != number && sections->all[section_list[number].part_of].shown,
        .paragraphs = section->paragraphs,
        .none = section->none ? none.text : NULL,
    };
    int status = report_fill(sections, number, &table);
    uint64_t sources_shown = table.rows > 0 ? section->parts : 0;
    for (size_t i = 0; i < SECTION_SOURCES; i++)
        sources_shown |= section->sources[i];
    trace_bit_words(sources_shown & sections->trace.unrecorded, table.missing, sizeof(table.missing));
    status =
        status < 0 ? error_no_memory(table.word) : report_write_table(render, &table, section->sort, section->usual);
    table_release(&table);
    return status;
}

static int write_report(struct sections *sections, const char *path, struct render *render)
{
    int status = 0;
    char missing[TABLE_MISSING];
    trace_bit_words(sections->trace.unrecorded, missing, sizeof(missing));
    render->trace = &sections->trace;
    render->path = path;
    if (render->format->trace_begin)
        render->format->trace_begin(render, path, missing);
    bool headed = render->options->usual || render->options->format == REPORT_HTML;
    if (headed && section_state(&sections->trace, REPORT_FINDINGS)) {
        const struct findings *findings = findings_of(&sections->trace);
        struct buffer line;
        buffer_init_memory(&line);
        status = findings ? findings_headline(&line, findings, path) : -1;
        if (status == 0)
            render_line(render, line.data);
        render->any = true;
        buffer_release(&line);
        if (status < 0)
            return error_no_memory("a report");
    }
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && status == 0; i++)
        if (sections->all[i].shown)
            status = write_section(sections, i, render);
    if (render->format->trace_end)
        render->format->trace_end(render);
    return status;
}

/* Passes the events of the trace that the filters select, or all events without a filter, to the sections. */
static int read_events(struct sections *sections, const char *path)
{
    struct trace *trace = &sections->trace;
    const struct report_options *options = trace->options;
    struct reading reading = {.sections = sections, .filtered = filter_wanted(&options->filter)};
    bool renames = options->names == REPORT_NAMES_SHORT || options->names == REPORT_NAMES_MANGLED;
    const struct fields_receiver receiver = {.context = &reading,
                                             .place = place_event,
                                             .event = read_event,
                                             .batch = reading.filtered || renames ? NULL : read_batch,
                                             .batches = &sections->dispatcher.pool,
                                             .metadata = read_metadata};
    const struct sources_options source = {.workers = options->workers, .namer = options->namer};
    int status = filter_init(&reading.filter, &options->filter, trace, pass_event, sections)
                     ?: scan_first(&reading.filter, sections, path)
                     ?: sources_read_fields(path, &trace->strings, &receiver, &source);
    if (status == 0 && reading.filtered)
        status = filter_finish(&reading.filter, path);
    status = status ?: sections_finish(sections);
    filter_release(&reading.filter);
    return status;
}

/* Checks whether a rule of IDS has a finding. Returns REPORT_FAILED_ON if so, else 0, or -1 after error(). */
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
    if (status == 0 && options->has_snapshot && sections.all[REPORT_MEMORY].shown &&
        options->snapshot > trace_span(&sections.trace)) {
        char time[TIME_TEXT], end[TIME_TEXT]; /* formats with titles also say it in the title */
        write_time(time, options->snapshot);
        write_time(end, trace_span(&sections.trace));
        warning("%s'%s' ends at %s, before the %s of --snapshot: showing what was allocated at its end",
                filter_wanted(&options->filter) ? "the part of " : "", path, end, time);
    }
    status = status ?: write_report(&sections, path, render);
    if (status == 0 && options->fail_on)
        status = check_findings(&sections, options->fail_on);
    sections_release(&sections);
    return status;
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

/* Searches COUNT tables for a column called WORD. WHAT names the use of the column in the message. Returns 0, or -1
 * after an error() that lists the columns. */
static int check_column(const struct report_columns *tables, size_t count, const char *word, const char *what)
{
    char list[1024];
    for (size_t i = 0; i < count; i++)
        if (table_find_column(tables[i].columns, tables[i].count, word) >= 0)
            return 0;
    report_list_columns(tables, count, list, sizeof(list));
    if (!*list)
        return error("cannot %s '%s': these sections have none", what, word);
    char words[1024];
    struct suggestion nearest = suggestion_for(word, strlen(word));
    snprintf(words, sizeof(words), "%s", list);
    for (char *rest = words, *one; (one = strsep(&rest, ","));)
        suggestion_consider(&nearest, one + strspn(one, " "));
    if (nearest.word)
        return error("no column '%s' to %s: did you mean '%s'? These sections have %s", word, what, nearest.word, list);
    return error("no column '%s' to %s: these sections have %s", word, what, list);
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

/* Sets TABLES to the columns of the wanted sections, except listings. Returns the number of tables. */
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
    const char *ids = options->fail_on;
    char words[1024];
    if (ids && !*ids)
        return error("no finding to fail on: --fail-on is empty");
    for (size_t length; ids && *ids; ids += length + (ids[length] == ',')) {
        length = strcspn(ids, ",");
        if (finding_rule(ids, length) || (length == strlen("any") && strncmp(ids, "any", length) == 0))
            continue;
        finding_rule_words(words, sizeof(words));
        return error("no finding '%.*s' to fail on: there are %s", (int)length, ids, words);
    }
    if (filter_check(&options->filter) < 0)
        return -1;
    size_t known = section_tables(options, tables);
    for (size_t i = 0; i < count && i < REPORT_MORE_TABLES; i++)
        tables[known++] = more[i];
    return report_check_columns(options, tables, known);
}

int report_files(const struct report_options *options, const char *const *paths, size_t count, struct buffer *out)
{
    struct filter_missed missed = {0};
    struct report_options own = *options;
    struct render render = report_render(&own, out);
    int status = report_check(options, NULL, 0);
    own.missed = count > 1 ? &missed : NULL;
    render.several_traces = count > 1;
    if (status < 0)
        return status;
    if (render.format->begin)
        render.format->begin(&render);
    bool failed_on = false;
    for (size_t i = 0; i < count && status == 0; i++) {
        status = report_file(&own, paths[i], &render);
        failed_on |= status == REPORT_FAILED_ON;
        status = status < 0 ? status : 0;
    }
    if (status == 0 && render.format->end)
        render.format->end(&render);
    status = status ?: filter_missed_print(&missed, count);
    return status == 0 && failed_on ? REPORT_FAILED_ON : status;
}
