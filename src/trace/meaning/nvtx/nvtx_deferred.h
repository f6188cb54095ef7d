/* NVTX's deferred events: at times of their own, on the rows of the scopes they come from. */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_NVTX_DEFERRED_H
#define GPUTRACE_TRACE_MEANING_NVTX_NVTX_DEFERRED_H

#include <stdint.h>

struct piece_writer;
struct process;

/* Times and rows of deferred events. Returns 0, or -1 after error(). */
int resolve_deferred(struct process *process);
int write_deferred(struct piece_writer *out, struct process *process);
/* The name of a row; to be freed, NULL after error(). */
char *deferred_row_name(const struct process *process, uint32_t number);

#endif
