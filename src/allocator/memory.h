/*
 * What happens to the blocks of a heap: they are allocated, counted, and released to the driver when nobody uses
 * them any more and no capture is in the way.
 */
#ifndef GPUTRACE_ALLOCATOR_MEMORY_H
#define GPUTRACE_ALLOCATOR_MEMORY_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/heap.h"

/* Records that STREAM uses it too. Returns 0, or -1: no memory. */
int block_add_stream(struct block *block, CUstream stream);

/*
 * The account of a heap: blocks are created and recycled here, and what happens to them is counted and kept in the
 * history. With the heap's lock held, except account_request() and account_cancel().
 *
 *     account_request()     the driver is about to be asked for the block's memory …
 *     account_cancel()      … and gave none
 *     account_held()        … or gave it
 *     account_allocated()   the program has the block …
 *     account_freed()       … and has freed it
 *     account_released()    the driver is about to get the memory back, and the block is recycled
 *     account_lost()        the driver did not take it back
 */

#define ACCOUNT_LIMIT ((CUresult)(-1)) /* beside CUDA's errors: the allocation would exceed the heap's limit */

/* A block for BYTES in STREAM, whose capture is CAPTURE (0: none), with stream, pool and bytes filled in. NULL: *RESULT
 * is ACCOUNT_LIMIT, or CUDA_ERROR_OUT_OF_MEMORY if the host has no memory. */
struct block *account_request(struct heap *heap, size_t bytes, CUstream stream, uint64_t capture, CUresult *result);
void account_cancel(struct heap *heap, struct block *block);

void account_held(struct heap *heap, size_t bytes);

/* Notes that the block is allocated, from TIME on. False: the host has no memory, and nothing was done. */
bool account_allocated(struct heap *heap, struct block *block, uint64_t time);
void account_freed(struct heap *heap, struct block *block, CUstream stream);

/* Returns the private pool's memory that is to be destroyed with its last block, or NULL. */
CUmemoryPool account_released(struct heap *heap, struct block *block);
void account_lost(struct heap *heap, size_t bytes);

/* BYTES for STREAM could not be allocated. */
void account_failed(struct heap *heap, size_t bytes, CUstream stream);

/*
 * Memory for streams that are being captured, and the release of all memory to the driver: when nobody uses it any
 * more, and when no capture is in the way. Without the heap's lock.
 *
 * In a captured stream an allocation would become a node of the graph: made anew at each launch, and gone, or in the
 * way of the next launch, after it. Programs that capture want memory that stays where it is. So the memory is
 * allocated from the pool in a stream of the allocator's own and is there when the call returns. The graph that is
 * being made holds the memory by a user object of CUDA's, which all graphs that are instantiated or cloned of it hold
 * as well. When the last one is gone and no launch runs, CUDA calls graph_gone() on a thread on which CUDA must not be
 * called; the next allocation or free releases the memory.
 */

/* A block of BYTES for STREAM, which CAPTURE is of: held by the graph, and not in use yet. NULL: *RESULT says why. */
struct block *memory_allocate_captured(struct heap *heap, size_t bytes, CUstream stream, const struct capture *capture,
                                       CUresult *result);

/* The program frees POINTER in STREAM, which CAPTURE is of. False: HEAP does not have POINTER in use. */
bool memory_free(struct heap *heap, const void *pointer, CUstream stream, const struct capture *capture);

/* Releases BLOCK, which the program has freed in `freed_in`: at once; when the graphs that hold it are gone; or, while
 * one of its streams is being captured, when the capture is over. */
void memory_release(struct heap *heap, struct block *block);

/* Releases blocks that had to wait and need not any longer. Cheap when there are none. */
void memory_release_pending(struct heap *heap);

#endif
