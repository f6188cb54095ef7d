/* Managed memory: migrations, page faults and what the driver does against thrashing, on a row of the GPU. */
#ifndef GPUTRACE_TRACE_BUILD_UNIFIED_MEMORY_H
#define GPUTRACE_TRACE_BUILD_UNIFIED_MEMORY_H

struct conversion;
struct event;
struct piece_writer;
struct process;

/* The three passes. Each returns 0, or -1 after error(). */
int index_unified_memory(struct conversion *conversion, struct process *process, const struct event *event);
int resolve_unified_memory(struct process *process, const struct event *event);
int write_unified_memory(struct piece_writer *out, struct process *process, const struct event *event);

#endif
