/* The first look: how long, how busy, how much of what, and what is missing. */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/errors.h"
#include "analysis/section.h"

#define COLUMNS(X)                                \
    X(ITEM, "item", "Item", TEXT, 0)              \
    X(VALUE, "value", "Value", ANY, 0)            \
    X(UNIT, "unit", "Unit", TEXT, COLUMN_MACHINE) \
    X(DETAIL, "detail", "", TEXT, COLUMN_OPTIONAL)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

static const char *unit_word(enum column_type type)
{
    return type == TYPE_NS ? "ns" : type == TYPE_PERCENT ? "percent" : type == TYPE_COUNT ? "count" : "";
}

/* Adds a row ITEM with VALUE. Returns the cell for its detail; NULL: no memory. */
static struct cell *put(struct table *table, struct cell item, struct cell value, enum column_type type)
{
    struct cell *row = table_row(table);
    if (!row)
        return NULL;
    row[COLUMN_ITEM] = item;
    row[COLUMN_VALUE] = cell_typed(value, type);
    row[COLUMN_UNIT] = table_text(table, unit_word(type));
    return &row[COLUMN_DETAIL];
}

static void write_text(struct table *table, const struct trace *trace, const char *item, uint32_t text)
{
    if (text != EVENT_NO_TEXT)
        put(table, table_text(table, item), trace_text_cell(trace, table, text), TYPE_TEXT);
}

static bool is_recorded(const struct trace *trace, uint64_t sources)
{
    return sources & ~trace->unrecorded;
}

static void write_unrecorded(struct table *table, const char *item)
{
    put(table, table_text(table, item), table_text(table, "not recorded"), TYPE_TEXT);
}

/* "without kernel, memset" where only some of SOURCES were recorded. */
static struct cell without_cell(struct table *table, const struct trace *trace, uint64_t sources)
{
    char words[TABLE_MISSING];
    trace_bit_words(sources & trace->unrecorded, words, sizeof(words));
    return *words ? table_format(table, "without %s", words) : (struct cell){0};
}

static void write_device(struct table *table, const struct trace *trace, size_t index)
{
    const struct trace_device *device = &trace->devices.items[index];
    if (!device->used)
        return;
    int64_t id = trace_device_id(trace, index);
    const char *name = device->name == EVENT_NO_TEXT ? "" : interned(&trace->strings, device->name);
    struct cell without = without_cell(table, trace, TRACE_GPU_WORK);
    struct cell busy = cell_share(device->busy_total, trace_span(trace));
    struct cell *detail = put(table, table_format(table, "GPU %" PRId64 " busy", id), busy, TYPE_PERCENT);
    if (detail)
        *detail = table_text(table, name);
    struct cell time = cell_integer(device->busy_total);
    detail = put(table, table_format(table, "GPU %" PRId64 " busy time", id), time, TYPE_NS);
    if (detail)
        *detail = without;
}

static void write_count(struct table *table, const char *item, uint64_t count)
{
    put(table, table_text(table, item), cell_integer((int64_t)count), TYPE_COUNT);
}

/* COUNT of what --trace names by SOURCE. */
static void write_count_of(struct table *table, const struct trace *trace, uint64_t source, const char *item,
                           uint64_t count)
{
    if (is_recorded(trace, source))
        write_count(table, item, count);
    else
        write_unrecorded(table, item);
}

static void write_compilation(struct table *table, const struct trace *trace)
{
    if (!is_recorded(trace, TRACE_COMPILE))
        write_unrecorded(table, "Compiling");
    if (trace->counts[CATEGORY_COMPILATION] == 0)
        return;
    put(table, table_text(table, "Compiling"), cell_share(trace->compiling_total, trace_span(trace)), TYPE_PERCENT);
    put(table, table_text(table, "Compilation time"), cell_integer(trace->compiling_total), TYPE_NS);
}

static void write_calls(struct table *table, const struct trace *trace)
{
    struct cell calls =
        cell_integer((int64_t)(trace->counts[CATEGORY_CUDA_RUNTIME] + trace->counts[CATEGORY_CUDA_DRIVER]));
    struct cell failed = cell_integer((int64_t)trace->failed_calls.count);
    if (!is_recorded(trace, TRACE_API)) {
        write_unrecorded(table, "API calls");
        write_unrecorded(table, "Failed API calls");
        return;
    }
    struct cell *detail = put(table, table_text(table, "API calls"), calls, TYPE_COUNT);
    if (detail && (TRACE_API & trace->unrecorded))
        *detail = without_cell(table, trace, TRACE_API);
    else if (detail && trace->without_queries)
        *detail = table_text(table, "without queries (recorded by --trace=api-all)");
    detail = put(table, table_text(table, "Failed API calls"), failed, TYPE_COUNT);
    if (detail)
        *detail = errors_cell(&trace->failed_calls, table);
}

static void write_counts(struct table *table, const struct trace *trace)
{
    const uint64_t *counts = trace->counts;
    write_count_of(table, trace, TRACE_KERNEL, "Kernels", counts[CATEGORY_KERNEL]);
    write_count_of(table, trace, TRACE_MEMCPY, "Memory copies", counts[CATEGORY_GPU_MEMCPY]);
    write_count_of(table, trace, TRACE_MEMSET, "Memory sets", counts[CATEGORY_GPU_MEMSET]);
    if (counts[CATEGORY_GPU_GRAPH])
        write_count(table, "Graph launches", counts[CATEGORY_GPU_GRAPH]);
    write_calls(table, trace);
    write_count_of(table, trace, TRACE_NVTX, "NVTX ranges", counts[CATEGORY_USER_ANNOTATION] + trace->async_ranges);
    if (trace->marks)
        write_count(table, "NVTX marks", trace->marks);
    if (counts[CATEGORY_CPU_OP])
        write_count(table, "CPU operators", counts[CATEGORY_CPU_OP]);
}

/* "python3 (583)", one after another. */
static struct cell process_names(const struct trace *trace, struct table *table)
{
    char names[512] = "";
    size_t length = 0;
    for (size_t i = 0; i < trace->processes.count; i++) {
        const struct trace_process *process = &trace->processes.items[i];
        event_id id = *(const event_id *)groups_key(&trace->process_ids, i);
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

static void write_program(struct table *table, const struct trace *trace)
{
    uint64_t processes = 0, threads = 0;
    for (size_t i = 0; i < trace->processes.count; i++)
        processes += trace->processes.items[i].host;
    for (size_t i = 0; i < trace->threads.count; i++)
        threads += trace->threads.items[i].host;
    struct cell *detail = put(table, table_text(table, "Processes"), cell_integer((int64_t)processes), TYPE_COUNT);
    if (detail)
        *detail = process_names(trace, table);
    write_count(table, "Threads", threads);
}

/* The words for a loss are its key's. */
static void write_losses(struct table *table, const struct trace *trace)
{
    if (trace->losses_known && trace->losses.count == 0)
        put(table, table_text(table, "Lost or doubtful"), table_text(table, "nothing"), TYPE_TEXT);
    for (size_t i = 0; i < trace->losses.count; i++) {
        char words[64];
        snprintf(words, sizeof(words), "%s", interned(&trace->strings, trace->losses.items[i].name));
        for (char *at = words; *at; at++)
            *at = *at == '_' ? ' ' : *at;
        put(table, table_format(table, "Lost or doubtful: %s", words), cell_integer(trace->losses.items[i].count),
            TYPE_COUNT);
    }
    if (!trace->losses_known && trace->counts[CATEGORY_GPU_IN_FLIGHT]) /* else it is among them */
        write_count(table, "GPU work without times", trace->counts[CATEGORY_GPU_IN_FLIGHT]);
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    (void)state;
    write_text(table, trace, "Program", trace->program);
    write_text(table, trace, "Host", trace->host);
    write_text(table, trace, "Ended with", trace->ending);
    write_text(table, trace, "Warning", trace->missed);
    put(table, table_text(table, "Time span"), cell_integer(trace_span(trace)), TYPE_NS);
    for (size_t i = 0; i < trace->devices.count; i++)
        write_device(table, trace, i);
    if (!is_recorded(trace, TRACE_GPU_WORK))
        write_unrecorded(table, "GPU busy");
    write_compilation(table, trace);
    write_counts(table, trace);
    write_program(table, trace);
    write_losses(table, trace);
    return table->no_memory ? -1 : 0;
}

const struct section section_overview = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .listing = true,
    .finish = finish,
};
