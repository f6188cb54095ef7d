/*
 * Sections about allocations by group (heap.h): memory-peak, memory-leaks, memory-churn and memory-failures, and the
 * section that replaces section_memory if --snapshot is used.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/buffer.h"
#include "common/array.h"
#include "analysis/engine/heap.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace_known.h"

static struct cell fill_kind(struct report_row *row, const struct column *column)
{
    const struct heap_group_id *id = row->key;
    if (id->stack == HEAP_BEFORE)
        return table_format(row->table, "%s, from before the trace", heap_pytorch_name(id->kind));
    if (id->source == HEAP_OF_PYTORCH)
        return table_text(row->table, heap_pytorch_name(id->kind));
    return id->kind == EVENT_NO_TEXT ? table_text(row->table, "not known")
                                     : trace_text_cell(row->trace, row->table, (uint32_t)id->kind);
}

static FILL(size, ROW_KEY(heap_group_id)->stack == HEAP_BEFORE ? (struct cell){0} : fill_number(row, column))

/* The last columns of these tables: what the allocations of a group have in common. */
#define COLUMN_SIZE(word, title) {word, title, TYPE_BYTES, 0, fill_size, FROM_KEY(heap_group_id, size)}
#define GROUP_COLUMNS                                                                                       \
    {"device", "GPU", TYPE_NUMBER, COLUMN_OPTIONAL, fill_number, FROM_KEY(heap_group_id, device)},          \
        {"process", "Process", TYPE_TEXT, COLUMN_OPTIONAL, fill_process, FROM_KEY(heap_group_id, process)}, \
        {"kind", "Kind", TYPE_TEXT, 0, .fill = fill_kind, .importance = 85},                                \
        {"where", "Where", TYPE_TEXT, COLUMN_OPTIONAL, fill_place, FROM_KEY(heap_group_id, stack)},         \
        {"stack", "Call stack", TYPE_TEXT, COLUMN_MACHINE, fill_stack, FROM_KEY(heap_group_id, stack)},

    /*
     * The section memory-peak shows what was allocated at the peak of each device, and of host memory, by group.
     */

    struct peak_row {
    int64_t bytes, count, at, peak;
};

static const struct column peak_columns[] = {
    {"total", "Bytes", TYPE_BYTES, 0, fill_number, FROM_ITEM(peak_row, bytes)},
    {"share", "Of the peak", TYPE_PERCENT, 0, fill_percent, FROM_ITEM(peak_row, bytes), PER_ITEM(peak_row, peak)},
    {"count", "Count", TYPE_COUNT, 0, fill_number, FROM_ITEM(peak_row, count)},
    {"at", "Peak at", TYPE_NS, COLUMN_MOMENT, fill_time, FROM_ITEM(peak_row, at)},
    COLUMN_SIZE("size", "Size"),
    GROUP_COLUMNS};

static void finish_peak(struct report_row *row)
{
    const struct heap *heap = row->trace->heap;
    for (size_t i = 0; i < heap->groups.count; i++) {
        const struct heap_place *place = &heap->places.items[heap->groups.items[i].place];
        struct peak_row group = {.count = heap_group_at_peak(heap, i), .at = place->peak_at, .peak = place->peak};
        group.bytes = heap_group_bytes(heap_group_id(heap, i), group.count);
        group.count = heap_group_id(heap, i)->stack == HEAP_BEFORE ? FIELD_ABSENT : group.count;
        if (group.bytes > 0)
            section_row(row, heap_group_id(heap, i), &group);
    }
}

const struct section section_memory_peak = {
    SECTION_COLUMNS(peak_columns), .sources = {TRACE_MEMORY}, .indexes = {.heap = true}, .sort = "total",
    .finish = finish_peak,
};

/*
 * The section memory-leaks shows what was allocated at the end, by group. The section for --snapshot shows what was
 * allocated at the given time.
 */

struct live_row {
    int64_t bytes, count, first, last;
    const struct heap_live *lives;
};

static struct cell fill_addresses(struct report_row *row, const struct column *column)
{
    const struct live_row *group = row->item;
    struct buffer text;
    buffer_init_memory(&text);
    for (int64_t i = 0; i < group->count; i++)
        buffer_format(&text, "%s0x%" PRIx64, i > 0 ? " " : "", group->lives[i].address);
    return table_text_from_buffer(row->table, &text);
}

static const struct column live_columns[] = {
    {"total", "Bytes", TYPE_BYTES, COLUMN_SUM, fill_number, FROM_ITEM(live_row, bytes)},
    {"count", "Count", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(live_row, count)},
    {"first", "First at", TYPE_NS, COLUMN_MOMENT, fill_time, FROM_ITEM(live_row, first)},
    {"last", "Last at", TYPE_NS, COLUMN_MOMENT, fill_time, FROM_ITEM(live_row, last)},
    COLUMN_SIZE("size", "Size"),
    GROUP_COLUMNS{"addresses", "Addresses", TYPE_TEXT, COLUMN_MACHINE, .fill = fill_addresses},
};

ORDER_BY(by_group, struct heap_live, group, time, address)

/* Writes the rows of the COUNT allocations in LIVES. For allocations from before the trace, only the bytes are known;
 * AT_END selects those at the end, else those at the time of --snapshot are written. */
static void write_live(struct report_row *row, bool at_end, const struct heap_live *lives, size_t count)
{
    const struct heap *heap = row->trace->heap;
    struct heap_live *copy = calloc(count + 1, sizeof(*copy));
    size_t used = 0;
    row->table->no_memory |= !copy;
    for (size_t i = 0; i < heap->groups.count; i++) {
        const struct heap_group *group = &heap->groups.items[i];
        const struct live_row before = {at_end ? group->live : group->live_asked, FIELD_ABSENT, FIELD_ABSENT,
                                        FIELD_ABSENT, NULL};
        if (heap_group_id(heap, i)->stack == HEAP_BEFORE && before.bytes > 0)
            section_row(row, heap_group_id(heap, i), &before);
    }
    for (size_t i = 0; copy && i < count; i++)
        if (lives[i].used)
            copy[used++] = lives[i];
    if (used > 1)
        qsort(copy, used, sizeof(*copy), by_group);
    for (size_t first = 0, next = 0; first < used; first = next) {
        while (next < used && copy[next].group == copy[first].group)
            next++;
        const struct heap_group_id *id = heap_group_id(row->trace->heap, copy[first].group);
        struct live_row group = {.count = (int64_t)(next - first),
                                 .first = copy[first].time,
                                 .last = copy[next - 1].time,
                                 .lives = copy + first};
        group.bytes = heap_group_bytes(id, group.count);
        section_row(row, id, &group);
    }
    free(copy);
}

static void finish_at_end(struct report_row *row)
{
    write_live(row, true, row->trace->heap->lives.items, row->trace->heap->lives.count);
}

static void finish_at_time(struct report_row *row)
{
    write_live(row, false, row->trace->heap->then.items, row->trace->heap->then.count);
}

const struct section section_memory_leaks = {
    SECTION_COLUMNS(live_columns), .sources = {TRACE_MEMORY}, .indexes = {.heap = true}, .sort = "total",
    .finish = finish_at_end,
};

const struct section section_memory_snapshot = {
    SECTION_COLUMNS(live_columns), .sources = {TRACE_MEMORY}, .indexes = {.heap = true}, .sort = "total",
    .finish = finish_at_time,
};

/* The section memory-churn shows the allocations of each group that lived for less than HEAP_BRIEF_NS: their number,
 * lifetimes and bytes. */

static FILL(churned, cell_integer(heap_group_bytes(row->key, row_integer(row, column))))

    static struct cell fill_rate(struct report_row *row, const struct column *column)
{
    double bytes = (double)heap_group_bytes(row->key, row_integer(row, column)), span = (double)trace_span(row->trace);
    return span > 0 ? cell_real(bytes * (double)NS_PER_S / span) : (struct cell){0};
}

static const struct column churn_columns[] = {
    {"total", "Bytes", TYPE_BYTES, COLUMN_SUM, fill_churned, FROM_ITEM(heap_group, brief.count)},
    {"count", "Count", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(heap_group, brief.count)},
    {"allocations", "Of all", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(heap_group, allocations)},
    {"per_second", "Per second", TYPE_BYTES, 0, fill_rate, FROM_ITEM(heap_group, brief.count)},
    {"avg", "Avg life", TYPE_NS, 0, fill_quotient, FROM_ITEM(heap_group, brief.time),
     PER_ITEM(heap_group, brief.count)},
    {"min", "Min life", TYPE_NS, 0, fill_number, FROM_ITEM(heap_group, brief.shortest)},
    {"max", "Max life", TYPE_NS, 0, fill_number, FROM_ITEM(heap_group, brief.longest)},
    COLUMN_SIZE("size", "Size"),
    GROUP_COLUMNS};

static void finish_churn(struct report_row *row)
{
    const struct heap *heap = row->trace->heap;
    for (size_t i = 0; i < heap->groups.count; i++)
        if (heap->groups.items[i].brief.count > 0)
            section_row(row, heap_group_id(heap, i), &heap->groups.items[i]);
}

const struct section section_memory_churn = {
    SECTION_COLUMNS(churn_columns), .sources = {TRACE_MEMORY}, .indexes = {.heap = true}, .sort = "count",
    .finish = finish_churn,
};

/* The section memory-failures has a row per failed allocation: its size, and how much of that memory was allocated
 * then. */

static const struct column failure_columns[] = {
    {"at", "At", TYPE_NS, COLUMN_MOMENT, fill_time, FROM_ITEM(heap_failure, time)},
    COLUMN_SIZE("asked", "Bytes asked for"),
    {"held", "Held", TYPE_BYTES, COLUMN_OPTIONAL, fill_number, FROM_ITEM(heap_failure, held)},
    {"held_by_kind", "Held by kind", TYPE_TEXT, COLUMN_MACHINE, fill_name, FROM_ITEM(heap_failure, held_by_kind)},
    {"result", "Result", TYPE_NUMBER, COLUMN_MACHINE, fill_number, FROM_ITEM(heap_failure, result)},
    {"error", "Error", TYPE_TEXT, COLUMN_OPTIONAL | COLUMN_BAD, fill_error, FROM_ITEM(heap_failure, result)},
    GROUP_COLUMNS};

static void finish_failures(struct report_row *row)
{
    for (size_t i = 0; i < row->trace->heap->failures.count; i++) {
        const struct heap_failure *failure = &row->trace->heap->failures.items[i];
        section_row(row, &failure->asked, failure);
    }
}

const struct section section_memory_failures = {
    SECTION_COLUMNS(failure_columns),
    .sources = {TRACE_MEMORY},
    .indexes = {.heap = true},
    .finish = finish_failures,
};
