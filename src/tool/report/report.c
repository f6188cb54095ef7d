#include "tool/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sink.h"
#include "tool/report/heap.h"
#include "tool/report/reader.h"
#include "tool/report/render.h"
#include "tool/report/section.h"
#include "tool/report/snapshot.h"

static const struct {
    const char *word, *title;
} names[] = {
#define SECTION(name, word, title) {word, title},
    REPORT_SECTIONS(SECTION)
#undef SECTION
};

static const struct section *const sections[REPORT_SECTION_COUNT] = {
    [REPORT_OVERVIEW] = &section_overview,
    [REPORT_DEATH] = &section_death,
    [REPORT_KERNELS] = &section_kernels,
    [REPORT_API] = &section_api,
    [REPORT_MEMTIME] = &section_memtime,
    [REPORT_MEMSIZE] = &section_memsize,
    [REPORT_SYNC] = &section_sync,
    [REPORT_LATENCY] = &section_latency,
    [REPORT_NVTX] = &section_nvtx,
    [REPORT_NVTX_TREE] = &section_nvtx_tree,
    [REPORT_NVTX_GPU] = &section_nvtx_gpu,
    [REPORT_NVTX_KERNELS] = &section_nvtx_kernels,
    [REPORT_RANGES] = &section_device_ranges,
    [REPORT_MEMORY] = &section_memory,
    [REPORT_MEMORY_PEAK] = &section_memory_peak,
    [REPORT_MEMORY_LEAKS] = &section_memory_leaks,
    [REPORT_MEMORY_CHURN] = &section_memory_churn,
    [REPORT_MEMORY_FAILURES] = &section_memory_failures,
    [REPORT_STREAMS] = &section_streams,
    [REPORT_COMPILATION] = &section_compilation,
    [REPORT_PHASES] = &section_phases,
    [REPORT_PLUGINS] = &section_plugins,
};

static const struct renderer *const renderers[] = {
    [REPORT_TABLE] = &renderer_table,
    [REPORT_CSV] = &renderer_csv,
    [REPORT_JSON] = &renderer_json,
    [REPORT_MARKDOWN] = &renderer_markdown,
};

/* The report of one trace in the making. */
struct report {
    const struct report_options *options;
    struct trace trace;
    struct heap heap;                   /* the trace's, where it is wanted */
    void *states[REPORT_SECTION_COUNT]; /* NULL: the section is not wanted, or has no state */
    /* For each category the sections that want its events. */
    struct watchers {
        unsigned char sections[REPORT_SECTION_COUNT];
        unsigned count;
    } watchers[EVENT_CATEGORY_COUNT];
};

static bool is_wanted(const struct report_options *options, unsigned section)
{
    return options->sections == 0 || (options->sections >> section & 1);
}

static const struct section *section_of(const struct report_options *options, unsigned section)
{
    return section == REPORT_MEMORY && options->has_snapshot ? &section_memory_snapshot : sections[section];
}

/* Whether a wanted section is about what is allocated. */
static bool wants_heap(const struct report_options *options)
{
    static const unsigned of_heap[] = {REPORT_MEMORY_PEAK, REPORT_MEMORY_LEAKS, REPORT_MEMORY_CHURN,
                                       REPORT_MEMORY_FAILURES};
    bool wanted = options->has_snapshot && is_wanted(options, REPORT_MEMORY);
    for (size_t i = 0; i < sizeof(of_heap) / sizeof(*of_heap); i++)
        wanted |= is_wanted(options, of_heap[i]);
    return wanted;
}

static void report_release(struct report *report)
{
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
        if (report->states[i])
            section_of(report->options, i)->release(report->states[i]);
        free(report->states[i]);
    }
    heap_release(&report->heap);
    trace_release(&report->trace);
}

static void watch(struct report *report, unsigned section)
{
    for (unsigned category = 0; category < EVENT_CATEGORY_COUNT; category++) {
        struct watchers *watchers = &report->watchers[category];
        if (event_category_in(category, section_of(report->options, section)->categories))
            watchers->sections[watchers->count++] = (unsigned char)section;
    }
}

static int report_init(struct report *report, const struct report_options *options)
{
    *report = (struct report){.options = options};
    trace_init(&report->trace, options);
    heap_init(&report->heap, &report->trace.strings);
    report->trace.heap = wants_heap(options) ? &report->heap : NULL;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
        const struct section *section = section_of(options, i);
        if (!is_wanted(options, i))
            continue;
        report->trace.ranges.wanted |= section->ranges;
        report->trace.works.wanted |= section->work != NULL;
        report->trace.calls.wanted |= section->calls || section->work;
        if (section->state_size == 0)
            continue;
        report->states[i] = calloc(1, section->state_size);
        if (!report->states[i])
            return error_no_memory("a report");
        if (section->event)
            watch(report, i);
    }
    return 0;
}

static int take_event(void *context, struct trace_event *event)
{
    struct report *report = context;
    if (event->category == EVENT_KERNEL && trace_rename(&report->trace, event) < 0)
        return error_no_memory("names");
    if (trace_event(&report->trace, event) < 0)
        return error_no_memory("the trace's rows");
    /* Sections about slices see slices alone; in the others an event's phase says what it is. */
    const struct watchers *watchers = &report->watchers[event->category];
    bool slices_only = event_category_in(event->category, EVENT_GPU_WORK | EVENT_API | EVENT_BIT(EVENT_SYNC));
    if (slices_only && event->phase != 'X')
        return 0;
    for (unsigned i = 0; i < watchers->count; i++) {
        unsigned section = watchers->sections[i];
        if (sections[section]->event(report->states[section], &report->trace, event) < 0)
            return error_no_memory(names[section].word);
    }
    return 0;
}

/* Hands a work to the sections that look at works. */
static int take_work(void *context, const struct work *work, const struct call *call)
{
    struct report *report = context;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
        const struct section *section = section_of(report->options, i);
        if (section->work && report->states[i] && section->work(report->states[i], &report->trace, work, call) < 0)
            return -1;
    }
    return 0;
}

static int take_works(struct report *report)
{
    struct trace *trace = &report->trace;
    bool in_time = trace->ranges.wanted && trace->ranges.items.count > 0;
    return trace->works.wanted ? works_each(&trace->works, &trace->calls, in_time, take_work, report) : 0;
}

static int take_metadata(void *context, const char *key, const struct cJSON *value)
{
    struct report *report = context;
    return trace_metadata(&report->trace, key, value) < 0 ? error_no_memory("the trace's metadata") : 0;
}

/* The column of a section that its rows are sorted by; -1: none. */
static int sort_column(const struct report_options *options, const struct section *section)
{
    int column = options->sort ? table_find_column(section->columns, section->column_count, options->sort) : -1;
    if (column < 0 && section->sort)
        column = table_find_column(section->columns, section->column_count, section->sort);
    return column;
}

static int write_section(struct report *report, unsigned number, struct render *render)
{
    const struct section *section = section_of(report->options, number);
    char title[64];
    snapshot_title(title, sizeof(title), report->options->snapshot);
    struct table table = {
        .word = names[number].word,
        .title = section == &section_memory_snapshot ? title : names[number].title,
        .columns = section->columns,
        .column_count = section->column_count,
        .listing = section->listing,
        .headed = section->headed,
    };
    int status = section->finish(report->states[number], &report->trace, &table);
    if (status == 0 && !table.no_memory)
        status = table_sort(&table, sort_column(report->options, section), report->options->top);
    if (status < 0 || table.no_memory)
        status = error_no_memory(names[number].word);
    else
        render->format->table(render, &table);
    table_release(&table);
    return status;
}

static int write_report(struct report *report, const char *path, struct render *render)
{
    int status = 0;
    if (render->format->trace_begin)
        render->format->trace_begin(render, path);
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && status == 0; i++)
        if (is_wanted(report->options, i))
            status = write_section(report, i, render);
    if (render->format->trace_end)
        render->format->trace_end(render);
    return status;
}

int report_read(const struct report_options *options, const char *path, struct interner *strings,
                const struct reader_sink *sink)
{
    for (const struct report_reader *reader = options->readers; reader && reader->reads; reader++)
        if (reader->reads(path))
            return reader->read(path, strings, sink);
    return reader_read(path, strings, sink);
}

static int report_file(const struct report_options *options, const char *path, struct render *render)
{
    struct report report;
    int status = report_init(&report, options);
    if (status == 0 && report.trace.heap && options->has_snapshot)
        status = snapshot_find(&report.heap.asked_at, options, path);
    struct reader_sink sink = {
        .context = &report, .workers = options->workers, .event = take_event, .metadata = take_metadata};
    if (status == 0)
        status = report_read(options, path, &report.trace.strings, &sink);
    if (status == 0 && (trace_finish(&report.trace) < 0 || take_works(&report) < 0))
        status = error_no_memory("a report");
    if (status == 0)
        status = write_report(&report, path, render);
    report_release(&report);
    return status;
}

/* Whether some wanted section can be sorted as asked; else says by what they can. */
static int check_sort(const struct report_options *options)
{
    struct interner words = {0};
    char list[1024] = "";
    bool found = !options->sort;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT && !found; i++) {
        const struct section *section = section_of(options, i);
        if (!is_wanted(options, i) || section->listing)
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
    if (!*list)
        return error("cannot sort by '%s': the overview is not sorted", options->sort);
    return error("no column '%s' to sort by: these sections have %s", options->sort, list);
}

int report_files(const struct report_options *options, const char *const *paths, size_t count, struct sink *out)
{
    unsigned wanted = options->sections ? options->sections : ~0u >> (32 - REPORT_SECTION_COUNT);
    struct render render = {
        .format = renderers[options->format],
        .out = out,
        .options = options,
        .several_traces = count > 1,
        .several_tables = (wanted & (wanted - 1)) != 0,
    };
    int status = check_sort(options);
    if (status < 0)
        return status;
    if (render.format->begin)
        render.format->begin(&render);
    for (size_t i = 0; i < count && status == 0; i++)
        status = report_file(options, paths[i], &render);
    if (status == 0 && render.format->end)
        render.format->end(&render);
    return status;
}
