/*
 * How many blocks of a kernel a multiprocessor of a trace's GPU runs at once: common/multiprocessor.h, with what the
 * trace says of the GPU.
 */
#ifndef GPUTRACE_ANALYSIS_GPU_OCCUPANCY_H
#define GPUTRACE_ANALYSIS_GPU_OCCUPANCY_H

#include <stdint.h>

struct trace_device;

/* What a block takes; numbers that are not known are not above 0. */
struct block_shape {
    int64_t threads;
    int64_t registers; /* of each thread */
    int64_t shared_bytes;
};

/* 0: the GPU's numbers or the threads are not known, or a block does not fit. */
int64_t device_blocks(const struct trace_device *device, const struct block_shape *shape);

/* The threads of so many blocks, in percent of those that a multiprocessor can run; 0: as above. */
int64_t device_occupancy(const struct trace_device *device, const struct block_shape *shape);

#endif
