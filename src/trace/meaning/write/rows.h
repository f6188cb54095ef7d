/*
 * Rows, and the ranges on them: names and order of processes, threads and streams; ranges and marks of NVTX and of
 * PyTorch's operators on their threads, and both these and device ranges on the GPU's streams. Each function returns 0,
 * or -1 after error().
 */
#ifndef GPUTRACE_TRACE_MEANING_WRITE_ROWS_H
#define GPUTRACE_TRACE_MEANING_WRITE_ROWS_H

#include <stddef.h>

struct conversion;
struct event;
struct piece_writer;
struct process;

/* Writes the rows of a process, before the events. Returns 0, or -1 after error(). */
int write_rows(struct conversion *conversion, struct process *process);

int write_nvtx_mark(struct piece_writer *out, struct process *process, const struct event *event);
/* Those of the numbers FIRST to END, without END itself. */
int write_nvtx_ranges(struct piece_writer *out, struct process *process, size_t first, size_t end);
int write_nvtx_started(struct piece_writer *out, struct process *process, size_t first, size_t end);
/* Of all ranges on GPUs, gpu_range_count() of them, in the order of their start. */
int write_gpu_ranges(struct piece_writer *out, struct process *process, size_t first, size_t end);
size_t gpu_range_count(const struct process *process);

#endif
