/*
 * What the sections about memory tell alike: whose memory it is, of what kind, and who asked for it.
 */
#ifndef GPUTRACE_ANALYSIS_MEMORY_CELLS_H
#define GPUTRACE_ANALYSIS_MEMORY_CELLS_H

#include "analysis/heap.h"
#include "analysis/table.h"
#include "analysis/trace.h"

/* The last columns of a table of groups, in the order of memory_put_group(). */
#define MEMORY_GROUP_COLUMNS(X)                             \
    X(SIZE, "size", "Size", BYTES, 0)                       \
    X(DEVICE, "device", "GPU", NUMBER, COLUMN_OPTIONAL)     \
    X(PROCESS, "process", "Process", TEXT, COLUMN_OPTIONAL) \
    X(KIND, "kind", "Kind", TEXT, 0)                        \
    X(PLACE, "where", "Where", TEXT, COLUMN_OPTIONAL)       \
    X(STACK, "stack", "Call stack", TEXT, COLUMN_MACHINE)

/* Fills the cells of MEMORY_GROUP_COLUMNS from FIRST on. */
void memory_put_group(const struct trace *trace, struct table *table, struct cell *first, size_t group);

/* KIND is a text, or of PyTorch a device type. */
struct cell memory_kind_cell(const struct trace *trace, struct table *table, int64_t source, uint64_t kind);
/* Empty where all is of one process. */
struct cell memory_process_cell(const struct trace *trace, struct table *table, event_id process);

/* COUNT allocations of SIZE bytes. */
int64_t memory_bytes(int64_t count, int64_t size);

#endif
