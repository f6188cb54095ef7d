/*
 * The pools of stream-ordered memory that the program uses, and what they hold and lend: the driver is asked now and
 * then, for asking CUPTI costs the program more than a microsecond at every allocation.
 *
 * Pools are known by their allocations. One that may be gone is never asked: the call that destroys a pool removes it
 * first, and waits for a question that is on its way.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CALLS_MEMORY_H
#define GPUTRACE_AGENT_CUPTI_CALLS_MEMORY_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#define MEMORY_POOLS_SETTLING 10 /* questions in which nothing has changed, after the last use or change */

/* POOL (0: the default one of DEVICE) is in use. From any thread; takes no lock for a pool that is known. */
void memory_pools_note(uint64_t pool, uint32_t device);

/* Memory may have gone back: some was freed, and the call does not say whether from a pool; or the program has
 * waited for the GPU, before which nothing goes back. */
void memory_pools_returned(void);

/* The pool, or the device with all of its pools, is about to go. */
void memory_pools_forget(uint64_t pool);
void memory_pools_forget_device(uint32_t device);

/* Whether any pool is known. */
bool memory_pools_any(void);

/*
 * Asks the driver of all pools, when one of them was used since or is still settling, or ALL_THE_SAME; publishes what
 * has changed. For the service thread: the driver may let it wait. Its calls are not the program's.
 */
void memory_pools_ask(bool all_the_same);

/* The process ends: the driver is not asked again. */
void memory_pools_stop(void);

/* In a forked child: they are the parent's. */
void memory_pools_atfork_child(void);

/* How much memory an array takes: its texels, without the padding that the driver adds. No descriptor (NULL): 0. Texels
 * of block-compressed and video formats count a byte a channel: the least. */
uint64_t array_bytes_2d(const CUDA_ARRAY_DESCRIPTOR *array);
uint64_t array_bytes_3d(const CUDA_ARRAY3D_DESCRIPTOR *array);
uint64_t array_bytes_mipmapped(const CUDA_ARRAY3D_DESCRIPTOR *array, unsigned levels);

#endif
