/*
 * The memory of one device as the allocator has it: the driver's pool that it comes from, private pools beside it, the
 * blocks that exist, and what is counted of them.
 *
 * The heap's lock guards all members that are marked so. It is held for a few tens of instructions and never while CUDA
 * is called: the driver calls back (CUPTI's callbacks, and from those plugins and the program), and a callback may
 * allocate.
 */
#ifndef GPUTRACE_ALLOCATOR_HEAP_H
#define GPUTRACE_ALLOCATOR_HEAP_H

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <gputrace/allocator.h>

#include "allocator/block.h"
#include "allocator/gpu.h"
#include "common/map.h"

#define CACHE_LINE 64
#define HEAPS_MAX 64 /* devices */

/* The last events of a heap, if the program wants them kept. */
struct history {
    struct gputrace_allocator_event *events; /* a ring */
    size_t capacity;                         /* 0: none are kept */
    uint64_t added;                          /* in all */
};

/* Memory apart from the heap's own pool: PyTorch wants one around the capture of a graph. A private pool that was
 * released as often as it was begun goes with its last block. */
struct private_pool {
    struct gputrace_pool_id id;
    CUmemoryPool memory;
    unsigned uses;    /* begun and not released */
    unsigned active;  /* begun and not ended */
    uint32_t thread;  /* that began it last */
    uint64_t capture; /* that allocates from it; 0: not known yet */
    unsigned blocks;  /* that came from it and exist */
    unsigned pins;    /* it may not go now */
    struct private_pool *next;
};

/* A graph holds a block (memory.c). */
struct graph_hold {
    struct heap *heap;
    struct block *block;
    struct graph_hold *next; /* in heap->returned */
};

struct heap {
    struct gpu gpu;
    CUmemoryPool memory; /* the heap's own pool */

    /* Atomically: */
    struct graph_hold *returned; /* by graphs that are gone; a stack */
    unsigned pending;            /* members of `returned` and `deferred` */

    /* The members above are read by every call and hardly ever change. On the cache line of the lock, each thread that
     * takes the lock would take them away from all others. */
    char padding[CACHE_LINE];

    pthread_mutex_t lock; /* waiting threads spin first: it is free again before they would sleep */
    /* Under the lock: */
    struct gputrace_allocator_stats stats;
    uint64_t requested;        /* bytes held, and those that the driver is being asked for */
    uint64_t sequence;         /* of the last event */
    uint64_t threshold;        /* release threshold of its pools, bytes */
    uint64_t peers;            /* a bit for each device that may use its memory */
    struct block_table blocks; /* in use */
    struct map streams;        /* handle -> struct gputrace_allocator_stream_stats, which stay */
    struct block *spare, *reusable, *deferred;
    struct private_pool *pools;
    struct history history;
};

static inline void heap_lock(struct heap *heap)
{
    pthread_mutex_lock(&heap->lock);
}

static inline void heap_unlock(struct heap *heap)
{
    pthread_mutex_unlock(&heap->lock);
}

/* The heap of DEVICE, made at its first use. NULL: no such device, no CUDA (after a warning), or a forked child. */
struct heap *heap_of(int device);
/* The same, but NULL if it was not made yet. */
struct heap *heap_known(int device);
/* Returns the heap that has POINTER in use, with its lock held, and in *BLOCK its block; looks into the heap of DEVICE
 * (any number) first. NULL: there is none, and no lock is held. */
struct heap *heap_lock_owner(const void *pointer, int device, struct block **block);

/* gettid() of this thread, asked once. */
uint32_t heap_thread(void);

/* --- pools --- */

/* The private pool for this thread's allocation, CAPTURE being that of its stream, 0 for none; NULL: the heap's own
 * pool. With the lock held. */
struct private_pool *heap_choose_pool(struct heap *heap, uint64_t capture);

/* A block of POOL (may be NULL) is gone. Returns the driver's pool that the caller is to destroy without the lock, or
 * NULL. With the lock held. */
CUmemoryPool heap_leave_pool(struct heap *heap, struct private_pool *pool);

/* Calls EACH for the heap's pool and the private ones, which stay meanwhile. Without the lock. */
void heap_each_pool(struct heap *heap, void (*each)(struct heap *heap, CUmemoryPool memory, void *data), void *data);

#endif
