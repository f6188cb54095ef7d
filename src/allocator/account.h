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
#ifndef GPUTRACE_ALLOCATOR_ACCOUNT_H
#define GPUTRACE_ALLOCATOR_ACCOUNT_H

#include <stddef.h>

#include "allocator/heap.h"

#define ACCOUNT_LIMIT ((CUresult)-1) /* beside CUDA's errors: the allocation would exceed the heap's limit */

/* A block for BYTES in STREAM, whose capture is CAPTURE (0: none), with stream, pool and bytes filled in. NULL: *RESULT
 * is ACCOUNT_LIMIT, or CUDA_ERROR_OUT_OF_MEMORY if the host has no memory. */
struct block *account_request(struct heap *heap, size_t bytes, CUstream stream, uint64_t capture, CUresult *result);
void account_cancel(struct heap *heap, struct block *block);

void account_held(struct heap *heap, size_t bytes);

/* From TIME on. False: the host has no memory, and nothing was done. */
bool account_allocated(struct heap *heap, struct block *block, uint64_t time);
void account_freed(struct heap *heap, struct block *block, CUstream stream);

/* Returns the private pool's memory that is to be destroyed with its last block, or NULL. */
CUmemoryPool account_released(struct heap *heap, struct block *block);
void account_lost(struct heap *heap, size_t bytes);

/* BYTES for STREAM could not be allocated. */
void account_failed(struct heap *heap, size_t bytes, CUstream stream);

#endif
