/*
 * Memory for streams that are being captured.
 *
 * Put into such a stream, an allocation would become a node of the graph: made anew at each launch, and gone, or in the
 * way of the next launch, after it. Programs that capture want memory that stays where it is. So it is taken from the
 * pool in a stream of our own, and is there when the call returns. The graph that is being made holds it by a user
 * object of CUDA's, which all graphs that are instantiated or cloned of it hold as well; when the last is gone and no
 * launch goes on, CUDA tells on a thread of its own, on which nothing may be done but note it: the next one who passes
 * gives the memory back.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_GRAPH_MEMORY_H
#define GPUTRACE_AGENT_ALLOCATOR_GRAPH_MEMORY_H

#include "agent/allocator/heap.h"
#include "agent/allocator/order.h"

struct hold {
    struct heap *heap;
    struct block *block;
    struct hold *next; /* in heap->returned */
};

/* BYTES for STREAM, which CAPTURE is of: a block that is ready but not in use, held by the graph. NULL: *RESULT says
 * why. */
struct block *graph_memory_take(struct heap *heap, size_t bytes, CUstream stream, const struct capture *capture,
                                CUresult *result);

/* HOLD, which was taken from heap->returned, has been seen to. */
void graph_memory_forget(struct hold *hold);

/* The list of reusable blocks, with the heap's lock held. */
void graph_memory_make_reusable(struct heap *heap, struct block *block);
void graph_memory_make_unusable(struct heap *heap, struct block *block);

#endif
