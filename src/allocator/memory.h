/*
 * Blocks of a heap: they are allocated, counted, and released to the driver when nobody uses them any more and no
 * capture is in the way.
 */
#ifndef GPUTRACE_ALLOCATOR_MEMORY_H
#define GPUTRACE_ALLOCATOR_MEMORY_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/heap.h"

/* Records that STREAM also uses the block. Returns 0, or -1 if there is no memory. */
int block_add_stream(struct block *block, CUstream stream);

/*
 * The account of a heap: blocks are created and recycled here, and each change is counted and kept in the history. The
 * heap's lock must be held, except for account_request(), account_cancel() and memory_release(). The calls for a block,
 * in order:
 *
 *      account_request()     before the driver is asked for the block's memory
 *      account_cancel()      if the driver has none
 *      account_held()        if the driver allocated it
 *      account_allocated()   when the program gets the block
 *      account_freed()       when the program frees it
 *      memory_release()      returns the memory to the driver; the block is recycled
 */

#define ACCOUNT_LIMIT ((CUresult)(-1)) /* no error of CUDA's: the allocation would exceed the heap's limit */

/* Returns a block for BYTES in STREAM, whose capture is CAPTURE (0: none), with stream, pool and bytes filled in.
 * Returns NULL with *RESULT set to ACCOUNT_LIMIT, or to CUDA_ERROR_OUT_OF_MEMORY if the host has no memory. */
struct block *account_request(struct heap *heap, size_t bytes, CUstream stream, uint64_t capture, CUresult *result);
void account_cancel(struct heap *heap, struct block *block);

void account_held(struct heap *heap, size_t bytes);

/* Counts the block as allocated, since TIME. Returns false, and changes nothing, if the host has no memory. */
bool account_allocated(struct heap *heap, struct block *block, uint64_t time);
void account_freed(struct heap *heap, struct block *block, CUstream stream);

/* Counts a failed allocation of BYTES for STREAM. */
void account_failed(struct heap *heap, size_t bytes, CUstream stream);

/*
 * Memory for streams that are being captured, and the release of all memory to the driver when nobody uses it any more
 * and no capture is in the way. The heap's lock must not be held.
 *
 * In a captured stream an allocation would become a node of the graph: made anew at each launch, and gone, or in the
 * way of the next launch, after it. Programs that capture want memory that stays in place. So the memory is allocated
 * from the pool in a stream of the allocator's own and is there when the call returns. The graph being made holds the
 * memory by a user object of CUDA, which all graphs that are instantiated or cloned from it also hold. When the last
 * one is gone and no launch runs, CUDA calls graph_gone() on a thread on which CUDA must not be called; the next
 * allocation or free releases the memory.
 */

/* Returns a block of BYTES for STREAM, whose capture is CAPTURE, held by the graph and not in use yet. Returns NULL
 * with the reason in *RESULT. */
struct block *memory_allocate_captured(struct heap *heap, size_t bytes, CUstream stream, const struct capture *capture,
                                       CUresult *result);

/* Frees POINTER in STREAM, whose capture is CAPTURE, for the program. Returns false if HEAP does not have POINTER in
 * use. */
bool memory_free(struct heap *heap, const void *pointer, CUstream stream, const struct capture *capture);

/* Releases BLOCK, which the program has freed in `freed_in`: at once, or when the graphs that hold it are gone, or,
 * while one of its streams is being captured, after the capture. */
void memory_release(struct heap *heap, struct block *block);

/* Releases blocks that had to wait and need not wait any longer. Cheap if there are none. */
void memory_release_pending(struct heap *heap);

#endif
