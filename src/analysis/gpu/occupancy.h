/*
 * How many blocks of a kernel a multiprocessor of a GPU runs at once, by the properties of the GPU in the trace.
 */
#ifndef GPUTRACE_ANALYSIS_GPU_OCCUPANCY_H
#define GPUTRACE_ANALYSIS_GPU_OCCUPANCY_H

#include <stdint.h>

struct trace_device;

/* Resources of a block. Unknown numbers are 0 or negative. */
struct block_shape {
    int64_t threads;
    int64_t registers; /* of each thread */
    int64_t shared_bytes;
};

/* Returns the blocks that run at once; 0 if the GPU's numbers or the threads are unknown, or a block does not fit. */
int64_t device_blocks(const struct trace_device *device, const struct block_shape *shape);

/* Returns the threads of these blocks in percent of the threads that a multiprocessor can run; 0 as above. */
int64_t device_occupancy(const struct trace_device *device, const struct block_shape *shape);

#endif
