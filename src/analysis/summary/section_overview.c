/* Sections that summarise a trace: overview (times, counts, and what is missing), plugins, and where the time goes. */
#include <inttypes.h>
#include <stdio.h>

#include "common/buffer.h"
#include "analysis/engine/errors.h"
#include "analysis/engine/trace_known.h"
#include "analysis/selection/filter.h"
#include "analysis/engine/section.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/idle/idle.h"
#include "analysis/gpu/temporal.h"
#include "analysis/summary/section_findings.h"

enum { ITEM, VALUE, UNIT, DETAIL };
static const struct column columns[] = {
    [ITEM] = {"item", "Item", TYPE_TEXT, 0, .fill = NULL},
    [VALUE] = {"value", "Value", TYPE_ANY, 0, .fill = NULL},
    [UNIT] = {"unit", "Unit", TYPE_TEXT, COLUMN_MACHINE, .fill = NULL},
    [DETAIL] = {"detail", "", TYPE_TEXT, COLUMN_OPTIONAL, .fill = NULL},
};

static const struct cell none;

/* Adds a row. Without memory, table_row() sets table->no_memory. */
static void put(struct table *table, struct cell item, struct cell value, enum column_type type, struct cell detail)
{
    const char *unit = type == TYPE_NS ? "ns" : type == TYPE_PERCENT ? "percent" : type == TYPE_COUNT ? "count" : "";
    struct cell *row = table_row(table);
    if (!row)
        return;
    row[ITEM] = item;
    row[VALUE] = value;
    row[VALUE].type = type;
    row[UNIT] = table_text(table, unit);
    row[DETAIL] = detail;
}

/* Marks the value of the last row as bad. */
static void mark_bad(struct table *table)
{
    if (table->rows > 0)
        table->cells.items[(table->rows - 1) * table->column_count + VALUE].bad = true;
}

static void write_text(struct table *table, const struct trace *trace, const char *item, uint32_t text)
{
    if (text != EVENT_NO_TEXT)
        put(table, table_text(table, item), trace_text_cell(trace, table, text), TYPE_TEXT, none);
}

/* Adds a row with COUNT. If --trace left out all bits of SOURCES (0: always recorded), the row shows "not recorded"
 * instead. */
static void write_count(struct table *table, const struct trace *trace, uint64_t sources, const char *item,
                        uint64_t count, struct cell detail)
{
    const struct cell said = table_text(table, trace_phrase(trace, item).text);
    if (sources && !(sources & ~trace->unrecorded))
        put(table, said, table_text(table, "not recorded"), TYPE_TEXT, none);
    else
        put(table, said, cell_integer((int64_t)count), TYPE_COUNT, detail);
}

/* Returns the cell "without kernel, memset" with the bits of SOURCES that --trace left out, or an empty cell. */
static struct cell without_cell(struct table *table, const struct trace *trace, uint64_t sources)
{
    char words[TABLE_MISSING];
    trace_bit_words(sources & trace->unrecorded, words, sizeof(words));
    return *words ? table_format(table, "without %s", words) : none;
}

static void write_devices(struct table *table, const struct trace *trace)
{
    struct cell without = without_cell(table, trace, TRACE_GPU_WORK);
    for (size_t i = 0; i < trace->devices.count; i++) {
        const struct trace_device *device = &trace->devices.items[i];
        char words[TRACE_STREAM_WORDS];
        trace_stream_words(words, trace_device_id(trace, i), FIELD_ABSENT);
        const char *gpu = *words ? words : "GPU";
        if (!device->used)
            continue;
        put(table, table_format(table, "%s busy", gpu), cell_share(device->busy.total, trace_span(trace)), TYPE_PERCENT,
            table_text(table, trace_text(trace, device->name)));
        put(table, table_format(table, "%s busy time", gpu), cell_integer(device->busy.total), TYPE_NS, without);
    }
    if (!(TRACE_GPU_WORK & ~trace->unrecorded))
        write_count(table, trace, TRACE_GPU_WORK, "GPU busy", 0, none);
}

static void write_counts(struct table *table, const struct trace *trace)
{
    const uint64_t *counts = trace->counts;
    struct cell queries =
        trace->without_queries ? table_text(table, "without queries (recorded by --trace=api-all)") : none;
    struct cell without = TRACE_API & trace->unrecorded ? without_cell(table, trace, TRACE_API) : queries;
    write_count(table, trace, TRACE_KERNEL, "Kernels", counts[CATEGORY_KERNEL], none);
    write_count(table, trace, TRACE_MEMCPY, "Memory copies", counts[CATEGORY_GPU_MEMCPY], none);
    write_count(table, trace, TRACE_MEMSET, "Memory sets", counts[CATEGORY_GPU_MEMSET], none);
    if (counts[CATEGORY_GPU_GRAPH])
        write_count(table, trace, 0, "Graph launches", counts[CATEGORY_GPU_GRAPH], none);
    write_count(table, trace, TRACE_API, "API calls", counts[CATEGORY_CUDA_RUNTIME] + counts[CATEGORY_CUDA_DRIVER],
                without);
    write_count(table, trace, TRACE_API, "Failed API calls", trace->failed_calls.count,
                errors_cell(&trace->failed_calls, table));
    if (trace->failed_calls.count > 0)
        mark_bad(table);
    write_count(table, trace, TRACE_NVTX, "NVTX ranges", counts[CATEGORY_USER_ANNOTATION] + trace->async_ranges, none);
    if (trace->marks)
        write_count(table, trace, 0, "NVTX marks", trace->marks, none);
    if (counts[CATEGORY_CPU_OP])
        write_count(table, trace, 0, "CPU operators", counts[CATEGORY_CPU_OP], none);
}

/* Returns a cell with the names of the processes: "python3 (583), python3 (584)". */
static struct cell process_names(const struct trace *trace, struct table *table)
{
    char names[512] = "";
    size_t length = 0;
    for (size_t i = 0; i < trace->processes.count; i++) {
        const struct trace_process *process = &trace->processes.items[i];
        event_id id = *(const event_id *)dense_map_row(&trace->process_ids, i);
        if (!process->host || process->name == EVENT_NO_TEXT || event_id_is_text(id))
            continue;
        int size = snprintf(names + length, sizeof(names) - length, "%s%s (%" PRId64 ")", length ? ", " : "",
                            interned(&trace->strings, process->name), event_id_value(id));
        if (size < 0 || (size_t)size >= sizeof(names) - length) {
            names[length] = '\0';
            break;
        }
        length += (size_t)size;
    }
    return length ? table_text(table, names) : (struct cell){0};
}

static void finish(struct report_row *row)
{
    const struct trace *trace = row->trace;
    struct table *table = row->table;
    write_text(table, trace, "Program", trace->program);
    write_text(table, trace, "Host", trace->host);
    /* Find the first crash with a known line of the program, which is shown with the end of the program. */
    const struct trace_crash *crash = NULL;
    for (size_t i = trace->crashes.count; i-- > 0;)
        if (trace->crashes.items[i].place != EVENT_NO_TEXT)
            crash = &trace->crashes.items[i];
    if (trace->ending != EVENT_NO_TEXT || crash)
        put(table, table_text(table, "Ended with"),
            table_text(table, trace_text(trace, trace->ending != EVENT_NO_TEXT ? trace->ending : crash->words)),
            TYPE_TEXT, crash ? table_format(table, "in %s", trace_text(trace, crash->place)) : none);
    write_text(table, trace, "Warning", trace->missed);
    if (trace->missed != EVENT_NO_TEXT)
        mark_bad(table);
    if (filter_wanted(&trace->options->filter)) {
        struct buffer words;
        buffer_init_memory(&words);
        filter_write(&words, &trace->options->filter);
        put(table, table_text(table, "Part"), table_text_from_buffer(table, &words), TYPE_TEXT, none);
    }
    put(table, table_text(table, "Time span"), cell_integer(trace_span(trace)), TYPE_NS, none);
    write_devices(table, trace);
    struct cell share = cell_share(trace->compiled.total, trace_span(trace));
    if (!(TRACE_COMPILE & ~trace->unrecorded))
        write_count(table, trace, TRACE_COMPILE, "Compiling", 0, none);
    if (trace->counts[CATEGORY_COMPILATION] > 0) {
        put(table, table_text(table, "Compiling"), share, TYPE_PERCENT, none);
        put(table, table_text(table, "Compilation time"), cell_integer(trace->compiled.total), TYPE_NS, none);
    }
    write_counts(table, trace);
    uint64_t processes = 0, threads = 0;
    for (size_t i = 0; i < trace->processes.count; i++)
        processes += trace->processes.items[i].host;
    for (size_t i = 0; i < trace->threads.count; i++)
        threads += trace->threads.items[i].host;
    write_count(table, trace, 0, "Processes", processes, process_names(trace, table));
    write_count(table, trace, 0, "Threads", threads, none);
    if (trace->losses_known && trace->losses.count == 0)
        put(table, table_text(table, "Lost or doubtful"), table_text(table, "nothing"), TYPE_TEXT, none);
    for (size_t i = 0; i < trace->losses.count; i++) {
        char words[64];
        snprintf(words, sizeof(words), "%s", trace_text(trace, trace->losses.items[i].name));
        for (char *at = words; *at; at++)
            *at = *at == '_' ? ' ' : *at;
        put(table, table_format(table, "Lost or doubtful: %s", words), cell_integer(trace->losses.items[i].count),
            TYPE_COUNT, none);
        mark_bad(table);
    }
    if (!trace->losses_known && trace->counts[CATEGORY_GPU_IN_FLIGHT]) /* else `losses` has it */
        write_count(table, trace, 0, "GPU work without times", trace->counts[CATEGORY_GPU_IN_FLIGHT], none);
}

const struct section section_overview = {
    SECTION_COLUMNS(columns),
    .listing = true,
    .finish = finish,
};

/* The section plugins shows the lines that plugins printed. The first row of a plugin also has its calls, and the time
 * that the program spent in it. */

struct plugin_row {
    uint32_t name, text, stack;
    struct cell process;
    int64_t calls, ns;
};

static const struct column plugin_columns[] = {
    {"plugin", "Plugin", TYPE_TEXT, 0, fill_name, FROM_ITEM(plugin_row, name), .importance = 90},
    {"process", "Process", TYPE_TEXT, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(plugin_row, process)},
    {"calls", "Calls", TYPE_COUNT, COLUMN_OPTIONAL, fill_number, FROM_ITEM(plugin_row, calls)},
    {"time", "Time", TYPE_NS, COLUMN_OPTIONAL, fill_number, FROM_ITEM(plugin_row, ns)},
    {"line", "Line", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_ITEM(plugin_row, text)},
    {"stack", "Stack", TYPE_TEXT, COLUMN_MACHINE, fill_name, FROM_ITEM(plugin_row, stack)},
};

static void finish_plugins(struct report_row *row)
{
    size_t line = 0;
    for (size_t i = 0; i < row->trace->plugins.count; i++) {
        const struct trace_plugin *plugin = &row->trace->plugins.items[i];
        struct plugin_row item = {.name = plugin->name,
                                  .calls = plugin->calls,
                                  .ns = plugin->ns,
                                  .text = EVENT_NO_TEXT,
                                  .stack = EVENT_NO_TEXT};
        if (plugin->pid != FIELD_ABSENT && row->trace->host_processes > 1)
            item.process = trace_process_cell(row->trace, row->table, event_id_number(plugin->pid));
        for (size_t k = 0; k == 0 || k < plugin->lines; k++) {
            if (k < plugin->lines) {
                item.text = row->trace->plugin_lines.items[line + k].text;
                item.stack = row->trace->plugin_lines.items[line + k].stack;
            }
            section_row(row, NULL, &item);
            item.calls = item.ns = FIELD_ABSENT;
        }
        line += plugin->lines;
    }
}

const struct section section_plugins = {
    SECTION_COLUMNS(plugin_columns),
    .finish = finish_plugins,
};

/* The section time shows where the time of a step, or of the run, goes on the busiest GPU. */

/* The parts of the time. They do not overlap: time that belongs to several parts counts for the first of them. */
enum { COMPUTING, COMMUNICATION, COPIES, LOADING, CAUSES, PART_COUNT = CAUSES + IDLE_CAUSE_COUNT };

struct time_share {
    int64_t ns; /* of a step, or of the run */
    struct cell word, text, share;
};

static const struct column time_columns[] = {
    {"cause", "Word", TYPE_TEXT, COLUMN_MACHINE, fill_cell, FROM_ITEM(time_share, word)},
    {"time", "Time", TYPE_NS, COLUMN_SUM, fill_number, FROM_ITEM(time_share, ns)},
    {"share", "Share", TYPE_PERCENT, COLUMN_SUM, fill_cell, FROM_ITEM(time_share, share)},
    {"part", "What", TYPE_TEXT, 0, fill_cell, FROM_ITEM(time_share, text)},
};

static void add_time_rows(struct report_row *row, struct time_share *parts, int64_t steps)
{
    static const struct idle_cause_words own[] = {
        [COMPUTING] = {"computing", "computing"},
        [COMMUNICATION] = {"communication", "communication that nothing hides"},
        [COPIES] = {"copies", "copies and sets that nothing hides"},
        [LOADING] = {"loading", "waiting for the DataLoader"},
    };
    int64_t whole = 0;
    for (unsigned i = 0; i < PART_COUNT; i++)
        sum_add(&whole, parts[i].ns);
    for (unsigned i = 0; i < PART_COUNT; i++) {
        const struct idle_cause_words *words = i < CAUSES ? &own[i] : &idle_cause_words[i - CAUSES];
        parts[i].ns /= steps > 0 ? steps : 1;
        parts[i].share = cell_share(parts[i].ns, whole / (steps > 0 ? steps : 1));
        parts[i].word = table_text(row->table, words->word);
        parts[i].text = row_phrase(row, words->text);
        if (parts[i].ns > 0)
            section_row(row, NULL, &parts[i]);
    }
}

static void finish_time(struct report_row *row)
{
    const struct trace *trace = row->trace;
    const struct findings *findings = findings_of(trace);
    struct temporal busy = {0};
    struct time_share parts[PART_COUNT] = {0};
    size_t most = 0;
    int status = findings ? temporal_gather(&busy, trace, findings->window.from, findings->window.to) : -1;
    for (size_t i = 1; i < busy.devices.count; i++)
        if (temporal_any(&busy.devices.items[i], TEMPORAL_ALL) > temporal_any(&busy.devices.items[most], TEMPORAL_ALL))
            most = i;
    if (status == 0 && busy.devices.count > 0) {
        const struct temporal_device *device = &busy.devices.items[most];
        int64_t all = temporal_any(device, TEMPORAL_ALL);
        int64_t kernels = temporal_any(device, TEMPORAL_COMPUTE | TEMPORAL_COMMUNICATION);
        parts[COMPUTING].ns = temporal_any(device, TEMPORAL_COMPUTE);
        parts[COMMUNICATION].ns = kernels - parts[COMPUTING].ns;
        parts[COPIES].ns = all - kernels;
        const struct idle *idle = findings->idle;
        bool known = idle && most < idle->devices.count;
        for (unsigned i = 0; known && i < IDLE_CAUSE_COUNT; i++)
            parts[CAUSES + i].ns = idle->devices.items[most].causes[i].total;
        const struct idle_row *one = known ? idle_first_row(&idle->rows, most) : NULL;
        for (; one; one = idle_next_row(&idle->rows, one)) {
            bool edge = one->what.cause == IDLE_BEFORE || one->what.cause == IDLE_AFTER;
            if (!edge && idle_is_loading(trace, &one->what)) {
                sum_add(&parts[LOADING].ns, one->sum.total);
                sum_add(&parts[CAUSES + one->what.cause].ns, -one->sum.total);
            }
        }
        if (findings->window.steps > 0)
            row->table->title = "Where a step goes";
        add_time_rows(row, parts, findings->window.steps);
    }
    array_release(&busy.devices);
    row->table->no_memory |= status < 0;
}

const struct section section_time = {
    SECTION_COLUMNS(time_columns),
    .comparable = {.noun = "time", .keys = {"part"}, .total = "time", .floor = FLOOR_HOST},
    .sort = "time",
    .usual = 5,
    .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .indexes = {.timeline = true},
    .needs = REPORT_BIT(REPORT_FINDINGS),
    .finish = finish_time,
};
