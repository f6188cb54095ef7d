/*
 * Clocks other than the trace's, and how their times become the trace's: by times at which two clocks were read
 * together, by what the program says about a clock, and through a third clock. NVTX's deferred events have such times.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_CLOCKS_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct nvtx_clocks;
struct piece_writer;
struct process;

/* Pairs the clocks, after the last record. Returns 0, or -1 after error(). */
int nvtx_clocks_close(struct nvtx_clocks *clocks);
/* Sets *TIME to the trace's time of a clock's TICKS. Returns false if the clock cannot be related to the trace's. */
bool nvtx_clocks_convert(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t clock, int64_t ticks,
                         uint64_t *time);
/* Returns the clock that the program uses in a scope, or NVTX_CLOCKS_OURS if it did not say. */
uint64_t nvtx_clocks_of_scope(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t scope);

/* Finds the times and rows of deferred events. Returns 0, or -1 after error(). */
int resolve_deferred(struct process *process);
int write_deferred(struct piece_writer *out, struct process *process);
/* Returns the name of a row of deferred events, which the caller frees, or NULL after error(). */
char *deferred_row_name(const struct process *process, uint32_t number);

#endif
