/*
 * Operations of GPUs: kernels, copies, sets, graph launches, as slices with their names and arguments.
 */
#ifndef GPUTRACE_TRACE_MEANING_GPU_GPU_OPS_H
#define GPUTRACE_TRACE_MEANING_GPU_GPU_OPS_H

#include <stdint.h>

#include "trace/spool/event_record.h"

/*
 * How full a kernel can make a GPU, by the rules of CUDA's occupancy calculator.
 */

struct occupancy {
    double blocks_per_multiprocessor; /* of the whole grid, spread evenly */
    double warps_per_multiprocessor;
    int percent; /* of the warps that a multiprocessor can hold, as long as blocks last */
};

/* For an EVENT_KERNEL. All 0 when the device is not known (NULL). */
struct occupancy occupancy_of(const struct device *device, const struct event *kernel);

/* Blocks of this size that one multiprocessor can hold at once. */
uint32_t occupancy_blocks(const struct device *device, uint32_t threads, uint32_t registers, uint32_t shared);

struct process;
struct args;

/* Events of CUPTI's records, and of ours. */

void add_gpu_place(struct args *args, const struct process *process, const struct event *event);

#endif
