/*
 * How much memory an array takes: its texels, without the padding that the driver adds.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CALLS_MEMORY_H
#define GPUTRACE_AGENT_CUPTI_CALLS_MEMORY_H

#include <cuda.h>
#include <stdint.h>

/* Of no descriptor (NULL): 0. Texels of block-compressed and video formats count a byte a channel: the least. */
uint64_t array_bytes_2d(const CUDA_ARRAY_DESCRIPTOR *array);
uint64_t array_bytes_3d(const CUDA_ARRAY3D_DESCRIPTOR *array);
uint64_t array_bytes_mipmapped(const CUDA_ARRAY3D_DESCRIPTOR *array, unsigned levels);

#endif
