/*
 * The sections about single allocations, by groups of those that are alike: memory-peak, memory-leaks, memory-churn and
 * memory-failures, and what --snapshot shows in place of the section memory.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/buffer.h"
#include "analysis/errors.h"
#include "analysis/heap.h"
#include "analysis/section.h"
#include "analysis/table.h"
#include "analysis/trace.h"

/* The last columns of a table of groups, in the order of write_group(). */
#define GROUP_COLUMNS(X)                                    \
    X(SIZE, "size", "Size", BYTES, 0)                       \
    X(DEVICE, "device", "GPU", NUMBER, COLUMN_OPTIONAL)     \
    X(PROCESS, "process", "Process", TEXT, COLUMN_OPTIONAL) \
    X(KIND, "kind", "Kind", TEXT, 0)                        \
    X(PLACE, "where", "Where", TEXT, COLUMN_OPTIONAL)       \
    X(STACK, "stack", "Call stack", TEXT, COLUMN_MACHINE)

/* COUNT allocations of SIZE bytes. */
static int64_t bytes_of(int64_t count, int64_t size)
{
    int64_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? INT64_MAX : bytes;
}

/* KIND is a text, or for PyTorch a device type. */
static struct cell kind_cell(const struct trace *trace, struct table *table, int64_t source, uint64_t kind)
{
    if (source == HEAP_OF_PYTORCH)
        return table_text(table, kind == HEAP_PYTORCH_CPU ? "PyTorch's allocator, host" : "PyTorch's allocator");
    return kind == EVENT_NO_TEXT ? table_text(table, "not told") : trace_text_cell(trace, table, (uint32_t)kind);
}

/* Empty where all is of one process. */
static struct cell process_cell(const struct trace *trace, struct table *table, event_id process)
{
    return trace->host_processes > 1 ? trace_process_cell(trace, table, process) : (struct cell){0};
}

/* Fills the cells of GROUP_COLUMNS from FIRST on. */
static void write_group(const struct trace *trace, struct table *table, struct cell *first, size_t group)
{
    enum { GROUP_COLUMNS(COLUMN_ENUM) };
    const struct heap_group_id *id = heap_group_id(trace->heap, group);
    first[COLUMN_SIZE] = cell_integer(id->size);
    first[COLUMN_DEVICE] = trace_number_cell(id->device);
    first[COLUMN_PROCESS] = process_cell(trace, table, id->process);
    first[COLUMN_KIND] = kind_cell(trace, table, id->source, id->kind);
    first[COLUMN_PLACE] = trace_place_cell(trace, table, id->stack);
    first[COLUMN_STACK] = trace_stack_cell(trace, table, id->stack);
}

/*
 * What the most memory that was allocated at one time was made of: of each device, and of the host's memory, by groups
 * of allocations that are alike.
 */

#define PEAK_COLUMNS(X)                          \
    X(BYTES, "total", "Bytes", BYTES, 0)         \
    X(SHARE, "share", "Of the peak", PERCENT, 0) \
    X(COUNT, "count", "Count", COUNT, 0)         \
    X(AT, "at", "Peak at", NS, 0)                \
    GROUP_COLUMNS(X)

static const struct column peak_columns[] = {PEAK_COLUMNS(COLUMN_ROW)};

static int finish_peak(void *state, const struct trace *trace, struct table *table)
{
    enum { PEAK_COLUMNS(COLUMN_ENUM) };
    const struct heap *heap = trace->heap;
    (void)state;
    for (size_t i = 0; i < heap->groups.count; i++) {
        const struct heap_place *place = &heap->places.items[heap->groups.items[i].place];
        int64_t count = heap_group_at_peak(heap, i), bytes = bytes_of(count, heap_group_id(heap, i)->size);
        struct cell *row = bytes > 0 ? table_row(table) : NULL;
        if (!row && bytes > 0)
            return -1;
        if (!row)
            continue;
        row[COLUMN_BYTES] = cell_integer(bytes);
        row[COLUMN_SHARE] = cell_share(bytes, place->peak);
        row[COLUMN_COUNT] = cell_integer(count);
        row[COLUMN_AT] = cell_integer(place->peak_at - trace->start);
        write_group(trace, table, &row[COLUMN_SIZE], i);
    }
    return 0;
}

const struct section section_memory_peak = {
    .columns = peak_columns,
    .column_count = sizeof(peak_columns) / sizeof(*peak_columns),
    .sources = {TRACE_MEMORY},
    .heap = true,
    .sort = "total",
    .finish = finish_peak,
};

/*
 * What was allocated at a time, by groups of allocations that are alike: at the end (memory-leaks), and at the time
 * that --snapshot names, then in place of the section memory.
 */

#define LIVE_COLUMNS(X)                           \
    X(BYTES, "total", "Bytes", BYTES, COLUMN_SUM) \
    X(COUNT, "count", "Count", COUNT, COLUMN_SUM) \
    X(FIRST, "first", "First at", NS, 0)          \
    X(LAST, "last", "Last at", NS, 0)             \
    GROUP_COLUMNS(X)                              \
    X(ADDRESSES, "addresses", "Addresses", TEXT, COLUMN_MACHINE)

static const struct column live_columns[] = {LIVE_COLUMNS(COLUMN_ROW)};

static int by_group(const void *a, const void *b)
{
    const struct heap_live *left = a, *right = b;
    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->address < right->address ? -1 : left->address > right->address;
}

static struct cell addresses_cell(struct table *table, const struct heap_live *lives, size_t count)
{
    struct buffer text;
    buffer_init_memory(&text);
    for (size_t i = 0; i < count; i++)
        buffer_format(&text, "%s0x%" PRIx64, i > 0 ? " " : "", lives[i].address);
    return table_sink(table, &text);
}

/* COUNT allocations of one group, by time. */
static int write_live_row(const struct trace *trace, struct table *table, const struct heap_live *lives, size_t count)
{
    enum { LIVE_COLUMNS(COLUMN_ENUM) };
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    int64_t size = heap_group_id(trace->heap, lives->group)->size;
    row[COLUMN_BYTES] = cell_integer(bytes_of((int64_t)count, size));
    row[COLUMN_COUNT] = cell_integer((int64_t)count);
    row[COLUMN_FIRST] = cell_integer(lives[0].time - trace->start);
    row[COLUMN_LAST] = cell_integer(lives[count - 1].time - trace->start);
    write_group(trace, table, &row[COLUMN_SIZE], lives->group);
    row[COLUMN_ADDRESSES] = addresses_cell(table, lives, count);
    return 0;
}

/* Sorts LIVES, whose first COUNT are in use. */
static int write_all_live(const struct trace *trace, struct table *table, struct heap_live *lives, size_t count)
{
    if (count > 1)
        qsort(lives, count, sizeof(*lives), by_group);
    for (size_t first = 0, next = 0; first < count; first = next) {
        while (next < count && lives[next].group == lives[first].group)
            next++;
        if (write_live_row(trace, table, lives + first, next - first) < 0)
            return -1;
    }
    return 0;
}

static int write_live(const struct trace *trace, struct table *table, const struct heap_live *lives, size_t count)
{
    struct heap_live *copy = calloc(count + 1, sizeof(*copy));
    size_t used = 0;
    if (!copy)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (lives[i].used)
            copy[used++] = lives[i];
    int status = write_all_live(trace, table, copy, used);
    free(copy);
    return status;
}

static int finish_at_end(void *state, const struct trace *trace, struct table *table)
{
    (void)state;
    return write_live(trace, table, trace->heap->lives.items, trace->heap->lives.count);
}

static int finish_at_time(void *state, const struct trace *trace, struct table *table)
{
    (void)state;
    return write_live(trace, table, trace->heap->then.items, trace->heap->then.count);
}

const struct section section_memory_leaks = {
    .columns = live_columns,
    .column_count = sizeof(live_columns) / sizeof(*live_columns),
    .sources = {TRACE_MEMORY},
    .heap = true,
    .sort = "total",
    .finish = finish_at_end,
};

const struct section section_memory_snapshot = {
    .columns = live_columns,
    .column_count = sizeof(live_columns) / sizeof(*live_columns),
    .sources = {TRACE_MEMORY},
    .heap = true,
    .sort = "total",
    .finish = finish_at_time,
};

/*
 * Short-lived allocations, by groups of those that are alike: how many lived for less than a millisecond, how much
 * memory went through them, and how long they lived.
 */

#define CHURN_COLUMNS(X)                                       \
    X(BYTES, "total", "Bytes", BYTES, COLUMN_SUM)              \
    X(COUNT, "count", "Count", COUNT, COLUMN_SUM)              \
    X(ALLOCATIONS, "allocations", "Of all", COUNT, COLUMN_SUM) \
    X(RATE, "per_second", "Per second", BYTES, 0)              \
    X(AVG, "avg", "Avg life", NS, 0)                           \
    X(MIN, "min", "Min life", NS, 0)                           \
    X(MAX, "max", "Max life", NS, 0)                           \
    GROUP_COLUMNS(X)

static const struct column churn_columns[] = {CHURN_COLUMNS(COLUMN_ROW)};

static int write_churn_row(const struct trace *trace, struct table *table, size_t number)
{
    enum { CHURN_COLUMNS(COLUMN_ENUM) };
    const struct heap_group *group = &trace->heap->groups.items[number];
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    int64_t bytes = bytes_of(group->brief.count, heap_group_id(trace->heap, number)->size);
    row[COLUMN_BYTES] = cell_integer(bytes);
    row[COLUMN_COUNT] = cell_integer(group->brief.count);
    row[COLUMN_ALLOCATIONS] = cell_integer(group->allocations);
    if (trace_span(trace) > 0)
        row[COLUMN_RATE] = cell_real((double)bytes * (double)NS_PER_S / (double)trace_span(trace));
    row[COLUMN_AVG] = cell_real((double)group->brief.time / (double)group->brief.count);
    row[COLUMN_MIN] = cell_integer(group->brief.shortest);
    row[COLUMN_MAX] = cell_integer(group->brief.longest);
    write_group(trace, table, &row[COLUMN_SIZE], number);
    return 0;
}

static int finish_churn(void *state, const struct trace *trace, struct table *table)
{
    (void)state;
    for (size_t i = 0; i < trace->heap->groups.count; i++)
        if (trace->heap->groups.items[i].brief.count > 0 && write_churn_row(trace, table, i) < 0)
            return -1;
    return 0;
}

const struct section section_memory_churn = {
    .columns = churn_columns,
    .column_count = sizeof(churn_columns) / sizeof(*churn_columns),
    .sources = {TRACE_MEMORY},
    .heap = true,
    .sort = "count",
    .finish = finish_churn,
};

/*
 * Allocations that failed, one by one: how much was asked for, and what was held at that moment on the device, or, when
 * memory of the host was asked for, there.
 */

#define FAILURES_COLUMNS(X)                                               \
    X(TIME, "at", "At", NS, 0)                                            \
    X(BYTES, "asked", "Bytes asked for", BYTES, 0)                        \
    X(HELD, "held", "Held", BYTES, COLUMN_OPTIONAL)                       \
    X(HELD_BY_KIND, "held_by_kind", "Held by kind", TEXT, COLUMN_MACHINE) \
    X(RESULT, "result", "Result", NUMBER, COLUMN_MACHINE)                 \
    X(ERROR, "error", "Error", TEXT, COLUMN_OPTIONAL)                     \
    X(DEVICE, "device", "GPU", NUMBER, COLUMN_OPTIONAL)                   \
    X(PROCESS, "process", "Process", TEXT, COLUMN_OPTIONAL)               \
    X(KIND, "kind", "Kind", TEXT, 0)                                      \
    X(PLACE, "where", "Where", TEXT, COLUMN_OPTIONAL)                     \
    X(STACK, "stack", "Call stack", TEXT, COLUMN_MACHINE)

static const struct column failures_columns[] = {FAILURES_COLUMNS(COLUMN_ROW)};

static int finish_failures(void *state, const struct trace *trace, struct table *table)
{
    enum { FAILURES_COLUMNS(COLUMN_ENUM) };
    (void)state;
    for (size_t i = 0; i < trace->heap->failures.count; i++) {
        const struct heap_failure *failure = &trace->heap->failures.items[i];
        struct cell *row = table_row(table);
        if (!row)
            return -1;
        row[COLUMN_TIME] = cell_integer(failure->time - trace->start);
        row[COLUMN_BYTES] = trace_number_cell(failure->bytes);
        row[COLUMN_HELD] = trace_number_cell(failure->held);
        row[COLUMN_HELD_BY_KIND] = trace_text_cell(trace, table, failure->held_by_kind);
        row[COLUMN_RESULT] = trace_number_cell(failure->result);
        row[COLUMN_ERROR] = driver_error_cell(table, failure->result);
        row[COLUMN_DEVICE] = trace_number_cell(failure->device);
        row[COLUMN_PROCESS] = process_cell(trace, table, failure->process);
        row[COLUMN_KIND] = kind_cell(trace, table, failure->source, failure->kind);
        row[COLUMN_PLACE] = trace_place_cell(trace, table, failure->stack);
        row[COLUMN_STACK] = trace_stack_cell(trace, table, failure->stack);
    }
    return 0;
}

const struct section section_memory_failures = {
    .columns = failures_columns,
    .column_count = sizeof(failures_columns) / sizeof(*failures_columns),
    .sources = {TRACE_MEMORY},
    .heap = true,
    .finish = finish_failures,
};
