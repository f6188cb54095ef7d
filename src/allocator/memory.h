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
#ifndef GPUTRACE_ALLOCATOR_MEMORY_H
#define GPUTRACE_ALLOCATOR_MEMORY_H

#include "allocator/heap.h"

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
