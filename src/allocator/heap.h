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
#include <stddef.h>
#include <stdint.h>

#include <gputrace/allocator.h>

#include "allocator/gpu.h"
#include "common/map.h"

/*
 * A block of memory that the driver gave, and what is known of it. A block is in one place at a time:
 *
 *     in use      the program has it: in the heap's table, by address
 *     reusable    it was allocated during a capture and freed in the same one: in the heap's list, held by graphs
 *     held        the program has freed it, graphs hold it: in no list; the graphs' user objects lead to it
 *     deferred    it cannot be released while a stream is being captured: in the heap's list
 *     releasing   a thread is about to release it
 */

struct private_pool;

struct block {
    uint64_t address;
    size_t bytes;    /* that the program asked for */
    size_t capacity; /* that the driver gave; more than `bytes` when the block is used again */
    CUstream stream;
    struct gputrace_allocator_stream_stats *of_stream;
    struct private_pool *pool; /* that it comes from; NULL: the heap's own */
    uint64_t time, sequence;   /* of the allocation */
    uint32_t thread;
    bool captured;    /* it was allocated during a capture */
    bool reusable;    /* it is in the heap's list of those */
    bool settled;     /* nothing but graphs uses it, and the stream that frees it waits for all other work on it */
    unsigned graphs;  /* that hold it */
    uint64_t capture; /* the last one that it was allocated for; 0: none */
    CUstream freed_in;
    CUstream *others; /* streams recorded for it */
    unsigned other_count, other_capacity;
    struct block *next; /* in a list or in a chain of the table */
};

/* Stacks of blocks, linked by `next`. */
static inline void block_push(struct block **list, struct block *block)
{
    block->next = *list;
    *list = block;
}

static inline struct block *block_pop(struct block **list)
{
    struct block *first = *list;
    if (first)
        *list = first->next;
    return first;
}

/* Blocks by address. Chains, because blocks come and go all the time and must leave nothing behind. All zero is an
 * empty table. */
struct block_table {
    struct block **chains;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* Adds BLOCK, by its address. False: no memory. */
bool block_table_put(struct block_table *table, struct block *block);
/* Removes BLOCK, which is there. */
void block_table_remove(struct block_table *table, struct block *block);

/* The block of ADDRESS; NULL: there is none. */
struct block *block_table_get(const struct block_table *table, uint64_t address);

/* Calls EACH for every block, in no order, until it returns non-zero; returns that, else 0. */
int block_table_each(const struct block_table *table, int (*each)(void *data, const struct block *block), void *data);

/*
 * Heaps.
 */

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
/* Returns the heap of DEVICE; NULL if it was not made yet. */
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
