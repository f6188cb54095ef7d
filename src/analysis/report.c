#include "analysis/report.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/buffer.h"
#include "common/text.h"
#include "analysis/findings.h"
#include "analysis/heap.h"
#include "analysis/names.h"
#include "trace/build/sources.h"
#include "analysis/render.h"
#include "analysis/section.h"

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

/* --- the time that --snapshot names --- */

#define TIME_TEXT 32

static int widen_times(void *context, struct event_fields *event)
{
    return trace_event(context, event) < 0 || trace_gpu_op(context, event) < 0 ? error_no_memory("the trace's rows")
                                                                               : 0;
}

static int pass_metadata(void *context, const char *key, const struct cJSON *value)
{
    (void)context, (void)key, (void)value;
    return 0;
}

/* Reads the trace at PATH once, only to find where it begins: *MOMENT is then the time in it, ns. Returns 0, or -1
 * after error(). */
static int snapshot_find(int64_t *moment, const struct report_options *options, const char *path)
{
    struct trace trace;
    struct fields_receiver receiver = {.context = &trace, .event = widen_times, .metadata = pass_metadata};
    enum log_level level = log_level();
    struct stat file;
    if (strcmp(path, "-") == 0)
        return error("a snapshot needs a file: standard input cannot be read twice");
    if (stat(path, &file) == 0 && !S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode))
        return error("a snapshot needs a file: '%s' cannot be read twice", path);
    trace_init(&trace, options);
    log_set_level(LOG_QUIET); /* warnings come with the second time */
    int status = read_trace(options, path, &trace.strings, &receiver);
    log_set_level(level);
    trace_sum_times(&trace);
    if (__builtin_add_overflow(trace.start, options->snapshot, moment))
        *moment = options->snapshot < 0 ? INT64_MIN : INT64_MAX;
    trace_release(&trace);
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

/* The same as a warning, for the formats that have no titles. */
static void snapshot_warn(const char *path, int64_t asked, int64_t span)
{
    char time[TIME_TEXT], end[TIME_TEXT];
    write_time(time, asked);
    write_time(end, span);
    if (asked > span)
        warning("'%s' ends at %s, before the %s of --snapshot: showing what was allocated at its end", path, end, time);
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

static int read_metadata(void *context, const char *key, const struct cJSON *value)
{
    struct sections *sections = context;
    if (dispatcher_wait(&sections->dispatcher) < 0)
        return -1;
    return trace_metadata(&sections->trace, key, value) < 0 ? error_no_memory("the trace's metadata") : 0;
}

/* The column of a section that its rows are sorted by; -1: none. */
static int sort_column(const struct report_options *options, const struct section *section)
{
    int column = options->sort ? table_find_column(section->columns, section->column_count, options->sort) : -1;
    if (column < 0 && section->sort)
        column = table_find_column(section->columns, section->column_count, section->sort);
    return column;
}

/* Whether --trace left out all of something that SECTION is made of. */
static bool is_unrecorded(const struct section *section, const struct trace *trace)
{
    bool unrecorded = false;
    for (size_t i = 0; i < SECTION_SOURCES; i++)
        unrecorded |= section->sources[i] && !(section->sources[i] & ~trace->unrecorded);
    return unrecorded;
}

static int fill_table(struct sections *sections, unsigned number, struct table *table)
{
    const struct section *section = sections->all[number].section;
    const struct trace *trace = &sections->trace;
    table->unrecorded = is_unrecorded(section, trace);
    int status = table->unrecorded ? 0 : sections_fill(sections, number, table);
    uint64_t looked_at = table->rows > 0 ? section->parts : 0;
    for (size_t i = 0; i < SECTION_SOURCES; i++)
        looked_at |= section->sources[i];
    trace_bit_words(looked_at & trace->unrecorded, table->missing, sizeof(table->missing));
    if (status == 0 && !table->no_memory)
        status = table_sort(table, sort_column(trace->options, section), trace->options->top);
    return status;
}

static int write_section(struct sections *sections, unsigned number, struct render *render)
{
    const struct section *section = sections->all[number].section;
    char title[160];
    snapshot_title(title, sizeof(title), render->options->snapshot, trace_span(&sections->trace));
    struct table table = {
        .word = section_list[number].word,
        .title = section == &section_memory_snapshot ? title : section_list[number].title,
        .columns = section->columns,
        .column_count = section->column_count,
        .listing = section->listing,
        .headed = section->headed,
        .paragraphs = section->paragraphs,
        .none = section->none,
    };
    int status = fill_table(sections, number, &table);
    if (status < 0 || table.no_memory)
        status = error_no_memory(table.word);
    else
        render->format->table(render, &table);
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
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && status == 0; i++)
        if (sections->all[i].shown)
            status = write_section(sections, i, render);
    if (render->format->trace_end)
        render->format->trace_end(render);
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

static int report_file(const struct report_options *options, const char *path, struct render *render)
{
    struct sections sections;
    struct trace *trace = &sections.trace;
    int status = sections_init(&sections, options);
    if (status == 0 && trace->heap && options->has_snapshot)
        status = snapshot_find(&trace->heap->asked_at, options, path);
    struct fields_receiver receiver = {.context = &sections,
                                       .place = place_event,
                                       .event = read_event,
                                       .run = options->names == REPORT_NAMES_FULL ? read_run : NULL,
                                       .metadata = read_metadata};
    if (status == 0)
        status = read_trace(options, path, &trace->strings, &receiver);
    if (status == 0)
        status = sections_finish(&sections);
    if (status == 0 && options->has_snapshot && sections.all[REPORT_MEMORY].shown)
        snapshot_warn(path, options->snapshot, trace_span(trace));
    if (status == 0)
        status = write_report(&sections, path, render);
    if (status == 0 && options->fail_on)
        status = check_findings(&sections, options->fail_on);
    sections_release(&sections);
    return status;
}

/* LIST has the names there are, with commas between. */
static int error_no_column(const char *given, const char *list)
{
    char words[1024];
    struct suggestion nearest = suggestion_for(given, strlen(given));
    snprintf(words, sizeof(words), "%s", list);
    for (char *rest = words, *word; (word = strsep(&rest, ","));)
        suggestion_consider(&nearest, word + strspn(word, " "));
    if (nearest.word)
        return error("no column '%s' to sort by: did you mean '%s'? These sections have %s", given, nearest.word, list);
    return error("no column '%s' to sort by: these sections have %s", given, list);
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
        return error("no finding '%.*s' to fail on: there are any, %s", (int)length, ids, words);
    }
    return 0;
}

/* Returns 0 if some wanted section can be sorted as asked, or -1 after an error that lists the columns. */
int report_check(const struct report_options *options)
{
    struct interner words = {0};
    char list[1024] = "";
    if (check_rules(options->fail_on) < 0)
        return -1;
    bool found = !options->sort;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && !found; i++) {
        const struct section *section = section_wanted(options, i);
        if (!section || section->listing)
            continue;
        found = table_find_column(section->columns, section->column_count, options->sort) >= 0;
        for (size_t k = 0; k < section->column_count; k++) {
            const char *word = section->columns[k].word;
            size_t before = words.count, length = strlen(list);
            intern(&words, word, strlen(word));
            if (words.count > before && length + strlen(word) + 3 < sizeof(list))
                strcat(strcat(list, length ? ", " : ""), word);
        }
    }
    interner_release(&words);
    if (found)
        return 0;
    return *list ? error_no_column(options->sort, list)
                 : error("cannot sort by '%s': the overview is not sorted", options->sort);
}

int report_files(const struct report_options *options, const char *const *paths, size_t count, struct buffer *out)
{
    uint64_t wanted = options->sections ? options->sections : REPORT_BIT(REPORT_SECTION_COUNT) - 1;
    struct render render = {
        .format = renderers[options->format],
        .out = out,
        .options = options,
        .several_traces = count > 1,
        .several_tables = (wanted & (wanted - 1)) != 0,
    };
    int status = report_check(options);
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
