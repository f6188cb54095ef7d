/* Sections of what GPUs did: kernels, copies and sets by name, launch latency, streams, and device ranges. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/base/cost_sum.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace_known.h"

/* --- kernels by name, with --by-grid also by grid and block. Launches of whole graphs whose nodes were not recorded
 * are listed, too --- */

struct kernel_key {
    uint64_t name;             /* of the trace's strings */
    int64_t grid[3], block[3]; /* only used with --by-grid, else the key is `name` alone */
};

struct kernel_row {
    TALLY_SERIES(times);
};

static int kernel_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct kernel_key key = {.name = event->name};
    struct kernel_row *row;
    if (trace->options->by_grid) {
        memcpy(key.grid, event_kernel(event)->grid, sizeof(key.grid));
        memcpy(key.block, event_kernel(event)->block, sizeof(key.block));
        row = tally_item(state, &key, struct kernel_row);
    } else {
        row = tally_item(state, &key.name, struct kernel_row);
    }
    return row ? series_add(&row->times, event->duration) : -1;
}

static struct cell fill_size(struct report_row *row, const struct column *column)
{
    const int64_t *size = row_field(row, column);
    if (!row->trace->options->by_grid || size[0] == FIELD_ABSENT || size[1] == FIELD_ABSENT || size[2] == FIELD_ABSENT)
        return (struct cell){0};
    return table_format(row->table, "%lldx%lldx%lld", (long long)size[0], (long long)size[1], (long long)size[2]);
}

static const struct column kernel_columns[] = {
    COLUMN_SHARE(kernel_row, times),
    COLUMN_TOTAL(COLUMN_SUM, kernel_row, times),
    COLUMN_COUNT("calls", "Calls", COLUMN_SUM, kernel_row, times),
    COLUMNS_SUMMARY("", TYPE_NS, kernel_row, times),
    {"grid", "Grid", TYPE_TEXT, COLUMN_OPTIONAL, fill_size, FROM_KEY(kernel_key, grid)},
    {"block", "Block", TYPE_TEXT, COLUMN_OPTIONAL, fill_size, FROM_KEY(kernel_key, block)},
    COLUMN_NAME,
};

const struct section section_kernels = {
    SECTION_COLUMNS(kernel_columns),
    SECTION_TALLY(struct kernel_row),
    .usual = 5,
    .sources = {TRACE_KERNEL},
    .comparable = {.noun = "kernel",
                   .keys = {"name", "grid", "block"},
                   .total = "total",
                   .count = "calls",
                   .each = "med",
                   .part = PART_OF_GPU_TIME,
                   .floor = FLOOR_GPU},
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_KERNEL) | CATEGORY_BIT(CATEGORY_GPU_GRAPH),
    .event = kernel_event,
};

/* --- copies and sets by what they did: "Memcpy HtoD (Pinned -> Device)" --- */

struct memop_row {
    TALLY_SERIES(times, sizes); /* sizes: of operations whose bytes are known */
    int64_t sized;              /* the sum of the times of operations whose bytes are known */
};

static int memop_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    const struct name_key key = {event->name};
    struct memop_row *row = tally_item(state, &key, struct memop_row);
    if (!row || series_add(&row->times, event->duration) < 0)
        return -1;
    if (event->bytes < 0)
        return 0;
    sum_add(&row->sized, event->duration);
    return series_add(&row->sizes, event->bytes);
}

#define MEMOP_LAST_COLUMNS              \
    {"bandwidth",                       \
     "Bandwidth",                       \
     TYPE_RATE,                         \
     0,                                 \
     fill_quotient,                     \
     FROM_ITEM(memop_row, sizes.total), \
     PER_ITEM(memop_row, sized)},       \
        {"name", "Operation", TYPE_TEXT, 0, fill_name, FROM_KEY(name_key, name)},

static const struct column memtime_columns[] = {COLUMN_SHARE(memop_row, times),
                                                COLUMN_TOTAL(COLUMN_SUM, memop_row, times),
                                                COLUMN_COUNT("count", "Count", COLUMN_SUM, memop_row, times),
                                                COLUMNS_SUMMARY("", TYPE_NS, memop_row, times), MEMOP_LAST_COLUMNS};

static const struct column memsize_columns[] = {
    {"share", "Bytes", TYPE_PERCENT, COLUMN_SUM, fill_share, FROM_ITEM(memop_row, sizes)},
    {"total", "Total", TYPE_BYTES, COLUMN_SUM, fill_total, FROM_ITEM(memop_row, sizes)},
    COLUMN_COUNT("count", "Count", COLUMN_SUM, memop_row, times),
    COLUMNS_SUMMARY("", TYPE_BYTES, memop_row, sizes),
    MEMOP_LAST_COLUMNS};

const struct section section_memtime = {
    SECTION_COLUMNS(memtime_columns),
    SECTION_TALLY(struct memop_row),
    .sources = {TRACE_MEMCPY | TRACE_MEMSET},
    .comparable = {.noun = "copy",
                   .keys = {"name"},
                   .total = "total",
                   .count = "count",
                   .each = "med",
                   .part = PART_OF_GPU_TIME,
                   .floor = FLOOR_COPY},
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_GPU_MEMCPY) | CATEGORY_BIT(CATEGORY_GPU_MEMSET),
    .event = memop_event,
};

const struct section section_memsize = {
    SECTION_COLUMNS(memsize_columns),
    SECTION_TALLY(struct memop_row),
    .sources = {TRACE_MEMCPY | TRACE_MEMSET},
    .comparable = {.noun = "size", .keys = {"name"}, .total = "total", .each = "med", .floor = FLOOR_SIZE},
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_GPU_MEMCPY) | CATEGORY_BIT(CATEGORY_GPU_MEMSET),
    .event = memop_event,
};

/*
 * The section latency shows how long the API call of an operation took, how long the operation waited from the end of
 * the call to its start (0 if it started before the call returned), and how long it ran. Calls and operations are
 * joined by correlation id; every node of a graph is joined with the launch of the graph.
 */

struct latency_row {
    TALLY_SERIES(api, queue, gpu);
    int64_t unmatched;
};

static const struct column latency_columns[] = {
    COLUMN_COUNT("calls", "Calls", COLUMN_SUM, latency_row, gpu),
    {"api_avg", "API avg", TYPE_NS, 0, fill_average, FROM_ITEM(latency_row, api), .importance = 60},
    {"api_med", "API med", TYPE_NS, 0, fill_median, FROM_ITEM(latency_row, api), .importance = 40},
    {"api_max", "API max", TYPE_NS, 0, fill_max, FROM_ITEM(latency_row, api), .importance = 50},
    {"queue_avg", "Queue avg", TYPE_NS, 0, fill_average, FROM_ITEM(latency_row, queue), .importance = 70},
    {"queue_med", "Queue med", TYPE_NS, 0, fill_median, FROM_ITEM(latency_row, queue), .importance = 40},
    {"queue_max", "Queue max", TYPE_NS, 0, fill_max, FROM_ITEM(latency_row, queue), .importance = 50},
    {"gpu_avg", "GPU avg", TYPE_NS, 0, fill_average, FROM_ITEM(latency_row, gpu), .importance = 60},
    {"gpu_med", "GPU med", TYPE_NS, 0, fill_median, FROM_ITEM(latency_row, gpu), .importance = 40},
    {"gpu_max", "GPU max", TYPE_NS, 0, fill_max, FROM_ITEM(latency_row, gpu), .importance = 50},
    {"unmatched", "No call", TYPE_COUNT, COLUMN_OPTIONAL | COLUMN_SUM, fill_some, FROM_ITEM(latency_row, unmatched)},
    COLUMN_NAME,
};

/* Adds the row of each name already here, so that rows are in the order of their first operations. */
static int latency_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    const struct name_key key = {event->name};
    return tally_item(state, &key, struct latency_row) ? 0 : -1;
}

static int latency_join(void *state, const struct trace *trace, const struct gpu_op *op, const struct call *call)
{
    const struct name_key key = {op->name};
    struct latency_row *row = tally_item(state, &key, struct latency_row);
    if (!row)
        return -1;
    if (!call) {
        row->unmatched++;
        return 0;
    }
    int64_t queue = op->start > call->end ? op->start - call->end : 0;
    if (series_add(&row->api, call->end - call->start) < 0 || series_add(&row->queue, queue) < 0)
        return -1;
    return series_add(&row->gpu, op->duration);
}

const struct section section_latency = {
    SECTION_COLUMNS(latency_columns),
    SECTION_TALLY(struct latency_row),
    .sources = {TRACE_GPU_WORK, TRACE_API},
    .sort = "queue_avg",
    .categories = CATEGORIES_GPU_OPS,
    .event = latency_event,
    .gpu_op = latency_join,
};

/* The section streams shows what each stream did, and its busy time as a share of the trace. */

static FILL(busy_share, cell_share(row_integer(row, column), trace_span(row->trace)))

    static FILL(graphs, row->trace->counts[CATEGORY_GPU_GRAPH] ? fill_number(row, column) : (struct cell){0})

        static struct cell fill_process_of_gpu(struct report_row *row, const struct column *column)
{
    const struct trace_gpu_row *gpu = trace_gpu_row(row->trace, (event_id)row_integer(row, column));
    bool several = row->trace->host_processes > 1;
    return gpu && several ? trace_process_cell(row->trace, row->table, gpu->process) : (struct cell){0};
}

/* Shows the name that the program gave the stream. It is the name of the stream's row, unless that only has the
 * number. */
static struct cell fill_stream_name(struct report_row *row, const struct column *column)
{
    const struct trace *trace = row->trace;
    const struct trace_stream_id *id = row->key;
    int64_t thread = trace_find_thread(trace, id->process, id->stream);
    uint32_t name = thread == FIELD_ABSENT ? EVENT_NO_TEXT : trace->threads.items[thread].name;
    const char *text = trace_text(trace, name);
    char plain[32];
    int length = snprintf(plain, sizeof(plain), "stream %" PRId64, id->stream);
    bool tells = strncmp(text, plain, (size_t)length) != 0 || text[length + (int)strspn(text + length, " ")] != '\0';
    return *text && tells ? table_text(row->table, text) : (struct cell){0};
}

static const struct column stream_columns[] = {
    {"busy_share", "Busy", TYPE_PERCENT, 0, fill_busy_share, FROM_ITEM(trace_stream, busy.total)},
    {"busy", "Busy", TYPE_NS, COLUMN_APART, fill_number, FROM_ITEM(trace_stream, busy.total)},
    {"kernels", "Kernels", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(trace_stream, gpu_ops[CATEGORY_KERNEL]),
     .source = TRACE_KERNEL},
    {"copies", "Copies", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(trace_stream, gpu_ops[CATEGORY_GPU_MEMCPY]),
     .source = TRACE_MEMCPY},
    {"sets", "Sets", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(trace_stream, gpu_ops[CATEGORY_GPU_MEMSET]),
     .source = TRACE_MEMSET},
    {"graphs", "Graphs", TYPE_COUNT, COLUMN_SUM | COLUMN_OPTIONAL, fill_graphs,
     FROM_ITEM(trace_stream, gpu_ops[CATEGORY_GPU_GRAPH])},
    {"first", "First start", TYPE_NS, COLUMN_MOMENT, fill_time, FROM_ITEM(trace_stream, first)},
    {"last", "Last end", TYPE_NS, COLUMN_MOMENT, fill_time, FROM_ITEM(trace_stream, last)},
    {"device", "GPU", TYPE_NUMBER, 0, fill_number, FROM_KEY(trace_stream_id, device)},
    {"context", "Context", TYPE_NUMBER, COLUMN_OPTIONAL, fill_number, FROM_KEY(trace_stream_id, context),
     .importance = 30},
    {"stream", "Stream", TYPE_NUMBER, 0, fill_number, FROM_KEY(trace_stream_id, stream)},
    {"process", "Process", TYPE_TEXT, COLUMN_OPTIONAL, fill_process_of_gpu, FROM_KEY(trace_stream_id, process)},
    {"name", "Name", TYPE_TEXT, COLUMN_OPTIONAL, .fill = fill_stream_name},
};

static void finish_streams(struct report_row *row)
{
    section_array(row, &row->trace->stream_ids, &row->trace->streams);
}

const struct section section_streams = {
    SECTION_COLUMNS(stream_columns),
    .sources = {TRACE_GPU_WORK},
    .sort = "busy",
    .finish = finish_streams,
};

/*
 * The section ranges shows ranges that the program put into its streams (gputrace_device_range_start), by name and
 * device: how long they took on the GPU. Ranges nest and overlap, so there are no sums.
 */

struct range_key {
    uint64_t name;
    int64_t device;
};

struct range_group {
    TALLY_SERIES(times);
    int64_t open;
};

static int range_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    if (event->phase != 'X' || event->name == EVENT_NO_TEXT)
        return 0;
    const struct range_key key = {event->name, trace_event_device(event)};
    struct range_group *group = tally_item(state, &key, struct range_group);
    if (!group)
        return -1;
    group->open += event_range(event)->open_at_end == 1;
    return series_add(&group->times, event->duration);
}

static const struct column range_columns[] = {
    COLUMN_TOTAL(0, range_group, times),
    COLUMN_COUNT("count", "Count", 0, range_group, times),
    COLUMNS_SUMMARY("", TYPE_NS, range_group, times),
    {"open", "Not ended", TYPE_COUNT, COLUMN_OPTIONAL, fill_some, FROM_ITEM(range_group, open)},
    {"device", "GPU", TYPE_NUMBER, 0, fill_number, FROM_KEY(range_key, device)},
    COLUMN_NAME,
};

const struct section section_device_ranges = {
    SECTION_COLUMNS(range_columns),
    SECTION_TALLY(struct range_group),
    .comparable = {.noun = "device-range",
                   .keys = {"device", "name"},
                   .total = "total",
                   .count = "count",
                   .each = "med",
                   .floor = FLOOR_HOST},
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_DEVICE_RANGE),
    .event = range_event,
};
