/* NVTX's extensions on their way into the trace: what the passes call. */
#ifndef GPUTRACE_TRACE_BUILD_NVTX_EXTENSIONS_H
#define GPUTRACE_TRACE_BUILD_NVTX_EXTENSIONS_H

#include <stdint.h>

struct event;
struct process;
/* Index pass: an EVENT_NVTX_EXTENSION, and after the last. Return 0, or -1 after error(). */
int index_nvtx_extension(struct process *process, const struct event *event);
int index_nvtx_extensions_end(struct process *process);
/* Resolve pass: times and rows of deferred events, times of samples. Return 0, or -1 after error(). */
int resolve_deferred(struct process *process);
int resolve_counters(struct process *process);
/* The name of a deferred row; to be freed, NULL after error(). */
char *deferred_row_name(const struct process *process, uint32_t number);

#endif
