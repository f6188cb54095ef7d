/* What each stream did, and how much of the trace's time it was busy. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/section.h"

static struct cell fill_busy_share(struct row *row, const struct column *column)
{
    return cell_share(row_integer(row, column), trace_span(row->trace));
}

static struct cell fill_graphs(struct row *row, const struct column *column)
{
    return row->trace->counts[EVENT_GRAPH] ? fill_number(row, column) : (struct cell){0};
}

static struct cell fill_process_of_gpu(struct row *row, const struct column *column)
{
    const struct trace_gpu_row *gpu = trace_gpu_row(row->trace, (event_id)row_integer(row, column));
    bool several = row->trace->host_processes > 1;
    return gpu && several ? trace_process_cell(row->trace, row->table, gpu->process) : (struct cell){0};
}

/* The name that the program gave the stream: that of its row, unless it only repeats the number. */
static struct cell fill_stream_name(struct row *row, const struct column *column)
{
    const struct trace *trace = row->trace;
    const struct trace_stream_id *id = row->key;
    int64_t thread = trace_find_thread(trace, id->process, id->stream);
    uint32_t name = thread == EVENT_NONE ? EVENT_NO_TEXT : trace->threads.items[thread].name;
    const char *text = name == EVENT_NO_TEXT ? "" : interned(&trace->strings, name);
    char plain[32];
    (void)column;
    int length = snprintf(plain, sizeof(plain), "stream %" PRId64, id->stream);
    bool tells = strncmp(text, plain, (size_t)length) != 0 || text[length + (int)strspn(text + length, " ")] != '\0';
    return *text && tells ? table_text(row->table, text) : (struct cell){0};
}

static const struct column columns[] = {
    {"busy_share", "Busy", TYPE_PERCENT, 0, fill_busy_share, FROM_ITEM(trace_stream, busy.total)},
    {"busy", "Busy", TYPE_NS, COLUMN_APART, fill_number, FROM_ITEM(trace_stream, busy.total)},
    {"kernels", "Kernels", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(trace_stream, gpu_ops[EVENT_KERNEL]),
     .source = TRACE_KERNEL},
    {"copies", "Copies", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(trace_stream, gpu_ops[EVENT_MEMCPY]),
     .source = TRACE_MEMCPY},
    {"sets", "Sets", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(trace_stream, gpu_ops[EVENT_MEMSET]),
     .source = TRACE_MEMSET},
    {"graphs", "Graphs", TYPE_COUNT, COLUMN_SUM | COLUMN_OPTIONAL, fill_graphs,
     FROM_ITEM(trace_stream, gpu_ops[EVENT_GRAPH])},
    {"first", "First start", TYPE_NS, 0, fill_time, FROM_ITEM(trace_stream, first)},
    {"last", "Last end", TYPE_NS, 0, fill_time, FROM_ITEM(trace_stream, last)},
    {"device", "GPU", TYPE_NUMBER, 0, fill_number, FROM_KEY(trace_stream_id, device)},
    {"context", "Context", TYPE_NUMBER, COLUMN_OPTIONAL, fill_number, FROM_KEY(trace_stream_id, context)},
    {"stream", "Stream", TYPE_NUMBER, 0, fill_number, FROM_KEY(trace_stream_id, stream)},
    {"process", "Process", TYPE_TEXT, COLUMN_OPTIONAL, fill_process_of_gpu, FROM_KEY(trace_stream_id, process)},
    {"name", "Name", TYPE_TEXT, COLUMN_OPTIONAL, .fill = fill_stream_name},
};

static int finish(struct row *row)
{
    return section_array(row, &row->trace->stream_ids, &row->trace->streams);
}

const struct section section_streams = {
    SECTION_COLUMNS(columns),
    .sources = {TRACE_GPU_WORK},
    .sort = "busy",
    .finish = finish,
};
