/*
 * Private pools: memory that is kept apart, as PyTorch asks for it around the capture of a graph. They are counted: a
 * pool that was released as often as it was begun goes with the last block that came from it.
 *
 * All but private_pool_begin() and its like want the heap's lock held.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_PRIVATE_POOL_H
#define GPUTRACE_AGENT_ALLOCATOR_PRIVATE_POOL_H

#include <cuda.h>
#include <stdint.h>

#include <gputrace/allocator.h>

struct heap;

struct private_pool {
    struct gputrace_pool_id id;
    CUmemoryPool memory;
    unsigned uses;    /* begun and not released */
    unsigned active;  /* begun and not ended */
    uint32_t thread;  /* that began it last */
    uint64_t capture; /* that takes from it; 0: not known yet */
    unsigned blocks;  /* that came from it and live */
    unsigned pins;    /* it may not go just now */
    struct private_pool *next;
};

/* Without the lock. */
void private_pool_begin(struct heap *heap, struct gputrace_pool_id id);
void private_pool_end(struct heap *heap, struct gputrace_pool_id id);
void private_pool_release(struct heap *heap, struct gputrace_pool_id id);

/* Where this thread's allocation comes from, CAPTURE being that of its stream, 0 for none; NULL: from the heap's own
 * pool. */
struct private_pool *private_pool_choose(struct heap *heap, uint64_t capture);

/* A block of POOL (may be NULL) is no more. What it gives is to be destroyed by the caller, without the lock: the
 * pool's memory, or NULL. */
CUmemoryPool private_pool_leave(struct heap *heap, struct private_pool *pool);

/* Calls EACH for the heap's pool and the private ones. Without the lock; they stay while it runs. */
void private_pool_each(struct heap *heap, void (*each)(struct heap *heap, CUmemoryPool memory, void *data), void *data);

#endif
