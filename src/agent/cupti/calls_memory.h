/*
 * Sizes of the program's pools of stream-ordered memory. The driver is queried now and then, because enabling CUPTI's
 * records would cost the program more than a microsecond at every allocation.
 *
 * Pools become known by their allocations. A pool that may be gone is never queried: the call that destroys a pool
 * removes it first, and waits for a query under way.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CALLS_MEMORY_H
#define GPUTRACE_AGENT_CUPTI_CALLS_MEMORY_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#define MEMORY_POOLS_SETTLING 10 /* further rounds without a change after the last use or change of a pool */

/* Notes that POOL (0: the default pool of DEVICE) is in use. Callable from any thread; takes no lock if the pool is
 * known. */
void memory_pools_note(uint64_t pool, uint32_t device);

/* Notes that pools may have got memory back: memory was freed, perhaps from a pool, or the program has waited for the
 * GPU, which lets earlier frees take effect. */
void memory_pools_returned(void);

/* Removes a pool, or all pools of a device, before it is destroyed. */
void memory_pools_forget(uint64_t pool);
void memory_pools_forget_device(uint32_t device);

bool memory_pools_any(void);

/*
 * Queries the sizes of all pools if one was used since the last round or is still settling, or if ALL_THE_SAME is set,
 * and publishes changes. Called by the service thread, because the driver may block. The driver calls are not traced.
 */
void memory_pools_ask(bool all_the_same);

/* Stops all queries, because the process ends. */
void memory_pools_stop(void);

/* In a forked child: forgets the pools, which are the parent's. */
void memory_pools_atfork_child(void);

/* Return the bytes of an array's texels, without the padding that the driver adds, or 0 if ARRAY is NULL. Texels of
 * block-compressed and video formats count one byte per channel, the least possible. */
uint64_t array_bytes_2d(const CUDA_ARRAY_DESCRIPTOR *array);
uint64_t array_bytes_3d(const CUDA_ARRAY3D_DESCRIPTOR *array);
uint64_t array_bytes_mipmapped(const CUDA_ARRAY3D_DESCRIPTOR *array, unsigned levels);

#endif
