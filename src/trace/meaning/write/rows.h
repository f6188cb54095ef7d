/*
 * Rows, and the ranges on them: names and order of processes, threads and streams; ranges and marks of NVTX and ranges
 * of PyTorch's operators on their threads; NVTX's ranges and device ranges on the GPU's streams. All functions return
 * 0, or
 * -1 after error(), unless they say otherwise.
 */
#ifndef GPUTRACE_TRACE_MEANING_WRITE_ROWS_H
#define GPUTRACE_TRACE_MEANING_WRITE_ROWS_H

#include <stddef.h>

struct conversion;
struct event;
struct piece_writer;
struct process;

/* Writes the rows of a process, before any event. */
int write_rows(struct conversion *conversion, struct process *process);

int write_nvtx_mark(struct piece_writer *out, struct process *process, const struct event *event);
/* Write the ranges number FIRST to END - 1: of push and pop, and of start and end. */
int write_nvtx_ranges(struct piece_writer *out, struct process *process, size_t first, size_t end);
int write_nvtx_started(struct piece_writer *out, struct process *process, size_t first, size_t end);
/* Writes ranges FIRST to END - 1 of the ranges on GPUs, projections and device ranges, in the order of their start. */
int write_gpu_ranges(struct piece_writer *out, struct process *process, size_t first, size_t end);

#endif
