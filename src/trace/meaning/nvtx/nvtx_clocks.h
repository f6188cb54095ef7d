/*
 * Clocks other than the trace's, and how their times become the trace's: by times at which two clocks were read
 * together, by what a clock says of itself, and through a third clock. NVTX's deferred events, which have such times.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_CLOCKS_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct nvtx_clocks;
struct piece_writer;
struct process;

/* After the last. Returns 0, or -1 after error(). */
int nvtx_clocks_close(struct nvtx_clocks *clocks);
/* The trace's time of a clock's TICKS. False: how the clock goes is not known. */
bool nvtx_clocks_convert(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t clock, int64_t ticks,
                         uint64_t *time);
/* The clock that the program said a scope is timed by; NVTX_CLOCKS_OURS: none. */
uint64_t nvtx_clocks_of_scope(const struct nvtx_clocks *clocks, uint32_t domain, uint64_t scope);

/* Times and rows of deferred events. Returns 0, or -1 after error(). */
int resolve_deferred(struct process *process);
int write_deferred(struct piece_writer *out, struct process *process);
/* The name of a row; to be freed, NULL after error(). */
char *deferred_row_name(const struct process *process, uint32_t number);

#endif
