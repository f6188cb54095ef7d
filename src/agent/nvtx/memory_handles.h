/*
 * Handles for what the program annotates and has no address of its own. They lie where no memory can be: whoever takes
 * one for a pointer finds out at once.
 */
#ifndef GPUTRACE_AGENT_NVTX_MEMORY_HANDLES_H
#define GPUTRACE_AGENT_NVTX_MEMORY_HANDLES_H

#include <stdint.h>

#define NVTX_MEMORY_HANDLES UINT64_C(0x4e56000000000000)
#define NVTX_MEMORY_DEVICE_HANDLES (NVTX_MEMORY_HANDLES + (UINT64_C(1) << 40))

/* One that was not given out before. */
static inline uint64_t nvtx_memory_handle(void)
{
    static uint64_t last;
    return NVTX_MEMORY_HANDLES + __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* Always the same for a device; -1: all of CUDA. */
static inline uint64_t nvtx_memory_handle_of_device(int device)
{
    return NVTX_MEMORY_DEVICE_HANDLES + (uint64_t)((int64_t)device + 1);
}

#endif
