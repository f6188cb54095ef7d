#include "analysis/memory_cells.h"

int64_t memory_bytes(int64_t count, int64_t size)
{
    int64_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? INT64_MAX : bytes;
}

struct cell memory_kind_cell(const struct trace *trace, struct table *table, int64_t source, uint64_t kind)
{
    if (source == HEAP_OF_PYTORCH)
        return table_text(table, kind == HEAP_PYTORCH_CPU ? "PyTorch's allocator, host" : "PyTorch's allocator");
    return kind == EVENT_NO_TEXT ? table_text(table, "not told") : trace_text_cell(trace, table, (uint32_t)kind);
}

struct cell memory_process_cell(const struct trace *trace, struct table *table, event_id process)
{
    return trace->host_processes > 1 ? trace_process_cell(trace, table, process) : (struct cell){0};
}

void memory_put_group(const struct trace *trace, struct table *table, struct cell *first, size_t group)
{
    enum { MEMORY_GROUP_COLUMNS(COLUMN_ENUM) };
    const struct heap_group_id *id = heap_group_id(trace->heap, group);
    first[COLUMN_SIZE] = cell_integer(id->size);
    first[COLUMN_DEVICE] = trace_number_cell(id->device);
    first[COLUMN_PROCESS] = memory_process_cell(trace, table, id->process);
    first[COLUMN_KIND] = memory_kind_cell(trace, table, id->source, id->kind);
    first[COLUMN_PLACE] = trace_place_cell(trace, table, id->stack);
    first[COLUMN_STACK] = trace_stack_cell(trace, table, id->stack);
}
