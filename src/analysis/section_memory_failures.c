/*
 * Allocations that failed, one by one: how much was asked for, and what was held at that moment on the device, or, when
 * memory of the host was asked for, there.
 */
#include "analysis/errors.h"
#include "analysis/memory_cells.h"
#include "analysis/section.h"

#define COLUMNS(X)                                                        \
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

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

static int finish(void *state, const struct trace *trace, struct table *table)
{
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
        row[COLUMN_PROCESS] = memory_process_cell(trace, table, failure->process);
        row[COLUMN_KIND] = memory_kind_cell(trace, table, failure->source, failure->kind);
        row[COLUMN_PLACE] = trace_place_cell(trace, table, failure->stack);
        row[COLUMN_STACK] = trace_stack_cell(trace, table, failure->stack);
    }
    return 0;
}

const struct section section_memory_failures = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_MEMORY},
    .heap = true,
    .finish = finish,
};
