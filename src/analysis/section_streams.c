/* What each stream did, and how much of the trace's time it was busy. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/section.h"

#define COLUMNS(X)                                                     \
    X(BUSY_SHARE, "busy_share", "Busy", PERCENT, 0)                    \
    X(BUSY, "busy", "Busy", NS, COLUMN_APART)                          \
    X(KERNELS, "kernels", "Kernels", COUNT, COLUMN_SUM)                \
    X(COPIES, "copies", "Copies", COUNT, COLUMN_SUM)                   \
    X(SETS, "sets", "Sets", COUNT, COLUMN_SUM)                         \
    X(GRAPHS, "graphs", "Graphs", COUNT, COLUMN_SUM | COLUMN_OPTIONAL) \
    X(FIRST, "first", "First start", NS, 0)                            \
    X(LAST, "last", "Last end", NS, 0)                                 \
    X(DEVICE, "device", "GPU", NUMBER, 0)                              \
    X(CONTEXT, "context", "Context", NUMBER, COLUMN_OPTIONAL)          \
    X(STREAM, "stream", "Stream", NUMBER, 0)                           \
    X(PROCESS, "process", "Process", TEXT, COLUMN_OPTIONAL)            \
    X(NAME, "name", "Name", TEXT, COLUMN_OPTIONAL)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

/* The name that the program gave the stream: that of its row, unless it only repeats the number. */
static struct cell name_cell(const struct trace *trace, struct table *table, const struct trace_stream_id *id)
{
    struct trace_thread_id row = {id->process, event_id_number(id->stream)};
    char plain[32];
    for (size_t i = 0; i < trace->threads.count; i++) {
        if (memcmp(groups_key(&trace->thread_ids, i), &row, sizeof(row)) != 0)
            continue;
        uint32_t name = trace->threads.items[i].name;
        const char *text = name == EVENT_NO_TEXT ? "" : interned(&trace->strings, name);
        int length = snprintf(plain, sizeof(plain), "stream %" PRId64, id->stream);
        bool tells =
            strncmp(text, plain, (size_t)length) != 0 || text[length + (int)strspn(text + length, " ")] != '\0';
        return *text && tells ? table_text(table, text) : (struct cell){0};
    }
    return (struct cell){0};
}

static struct cell process_cell(const struct trace *trace, struct table *table, const struct trace_stream_id *id)
{
    const struct trace_gpu_row *row = trace_gpu_row(trace, id->process);
    return row && trace->host_processes > 1 ? trace_process_cell(trace, table, row->process) : (struct cell){0};
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    (void)state;
    for (size_t i = 0; i < trace->streams.count; i++) {
        const struct trace_stream *stream = &trace->streams.items[i];
        const struct trace_stream_id *id = trace_stream_id(trace, i);
        struct cell *row = table_row(table);
        if (!row)
            return -1;
        row[COLUMN_BUSY_SHARE] = cell_share(stream->busy_total, trace_span(trace));
        row[COLUMN_BUSY] = cell_integer(stream->busy_total);
        row[COLUMN_KERNELS] = trace_count_cell(trace, TRACE_KERNEL, (int64_t)stream->gpu_ops[CATEGORY_KERNEL]);
        row[COLUMN_COPIES] = trace_count_cell(trace, TRACE_MEMCPY, (int64_t)stream->gpu_ops[CATEGORY_GPU_MEMCPY]);
        row[COLUMN_SETS] = trace_count_cell(trace, TRACE_MEMSET, (int64_t)stream->gpu_ops[CATEGORY_GPU_MEMSET]);
        if (trace->counts[CATEGORY_GPU_GRAPH])
            row[COLUMN_GRAPHS] = cell_integer((int64_t)stream->gpu_ops[CATEGORY_GPU_GRAPH]);
        row[COLUMN_FIRST] = cell_integer(stream->first - trace->start);
        row[COLUMN_LAST] = cell_integer(stream->last - trace->start);
        row[COLUMN_DEVICE] = trace_number_cell(id->device);
        row[COLUMN_CONTEXT] = trace_number_cell(id->context);
        row[COLUMN_STREAM] = trace_number_cell(id->stream);
        row[COLUMN_PROCESS] = process_cell(trace, table, id);
        row[COLUMN_NAME] = name_cell(trace, table, id);
    }
    return 0;
}

const struct section section_streams = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_GPU_WORK},
    .sort = "busy",
    .finish = finish,
};
