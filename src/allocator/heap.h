/*
 * The memory of one device: the driver's pool that it comes from, private pools beside it, the blocks that exist, and
 * statistics.
 *
 * The heap's lock guards the members marked so below. It is held for a few tens of instructions and never while CUDA is
 * called: the driver calls back (CUPTI's callbacks, and from those plugins and the program), and a callback may
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
 * A block of memory from the driver. A block is in one state at a time:
 *
 *      in use      the program has it: in the heap's table, by address
 *      reusable    it was allocated during a capture and freed in that capture: in the heap's list, held by graphs
 *      held        the program has freed it, graphs hold it: in no list; the graphs' user objects lead to it
 *      deferred    it cannot be released while a stream is being captured: in the heap's list
 *      releasing   a thread is about to release it
 */

struct private_pool;

struct block {
    uint64_t address;
    size_t bytes;    /* that the program requested */
    size_t capacity; /* that the driver allocated; may be more than `bytes` in a reused block */
    CUstream stream;
    struct gputrace_allocator_stream_stats *of_stream;
    struct private_pool *pool; /* private pool of the block; NULL: the heap's own pool */
    uint64_t time, sequence;   /* of the allocation */
    uint32_t thread;
    bool captured;    /* allocated during a capture */
    bool reusable;    /* in the heap's list `reusable` */
    bool settled;     /* only graphs use it, and the stream that frees it waits for all other work on it */
    unsigned graphs;  /* number of graphs that hold it */
    uint64_t capture; /* the last capture that it was allocated for; 0: none */
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

/* A hash table of blocks by address. It has chains, because blocks come and go all the time and removal must leave no
 * trace. An empty table is all zero. */
struct block_table {
    struct block **chains;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* Adds BLOCK by its address. Returns false if there is no memory. */
bool block_table_put(struct block_table *table, struct block *block);
/* Removes BLOCK, which must be in the table. */
void block_table_remove(struct block_table *table, struct block *block);

/* Returns the block at ADDRESS, or NULL if there is none. */
struct block *block_table_get(const struct block_table *table, uint64_t address);

/* Calls EACH for every block, in no particular order, until EACH returns non-zero. Returns that value, or 0. */
int block_table_each(const struct block_table *table, int (*each)(void *data, const struct block *block), void *data);

/*
 * Heaps.
 */

#define CACHE_LINE 64
#define HEAPS_MAX 64 /* maximum of devices */

/* The last events of a heap, if the program wants them kept. */
struct history {
    struct gputrace_allocator_event *events; /* a ring buffer */
    size_t capacity;                         /* 0: no events are kept */
    uint64_t added;                          /* number of events ever added */
};

/* Memory separate from the heap's own pool: PyTorch uses one for the capture of a graph. A private pool that was
 * released as often as it was begun is destroyed with its last block. */
struct private_pool {
    struct gputrace_pool_id id;
    CUmemoryPool memory;
    unsigned uses;    /* begins without a release */
    unsigned active;  /* begins without an end */
    uint32_t thread;  /* thread that began it last */
    uint64_t capture; /* capture that allocates from it; 0: not known yet */
    unsigned blocks;  /* number of its blocks */
    unsigned pins;    /* uses that keep it from being destroyed now */
    struct private_pool *next;
};

/* A graph's hold on a block (memory.c). */
struct graph_hold {
    struct heap *heap;
    struct block *block;
    struct graph_hold *next; /* in heap->returned */
};

struct heap {
    struct gpu gpu;
    CUmemoryPool memory; /* the heap's own pool */

    /* Atomic members: */
    struct graph_hold *returned; /* stack of holds of graphs that are gone */
    unsigned pending;            /* number of members of `returned` and `deferred` */

    /* Keeps the members above, which every call reads and which hardly ever change, off the cache line of the lock:
     * each thread that takes the lock would take that line away from all others. */
    char padding[CACHE_LINE];

    pthread_mutex_t lock; /* adaptive: it is free again before waiting threads would sleep */
    /* Members guarded by the lock: */
    struct gputrace_allocator_stats stats;
    uint64_t requested;        /* bytes held, plus bytes that the driver is being asked for */
    uint64_t sequence;         /* number of the last event */
    uint64_t threshold;        /* release threshold of the heap's pools, in bytes */
    uint64_t peers;            /* a bit for each device that may use the memory */
    struct block_table blocks; /* blocks in use */
    struct map streams;        /* handle -> struct gputrace_allocator_stream_stats; never removed */
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

/* Returns the heap of DEVICE, created at the first use, or NULL if there is no such device, no CUDA (with a warning),
 * or in a forked child. */
struct heap *heap_of(int device);
/* Returns the heap of DEVICE, or NULL if it was not created yet. */
struct heap *heap_known(int device);
/* Finds the heap that has POINTER in use, looking in the heap of DEVICE (any number) first. Returns it with its lock
 * held, and the block in *BLOCK, or NULL with no lock held. */
struct heap *heap_lock_owner(const void *pointer, int device, struct block **block);

/* Returns gettid() of this thread, and calls it only once. */
uint32_t heap_thread(void);

/* --- pools --- */

/* Returns the private pool for this thread's allocation, or NULL for the heap's own pool. CAPTURE is that of the
 * stream, 0 for none. The caller holds the lock. */
struct private_pool *heap_choose_pool(struct heap *heap, uint64_t capture);

/* Notes that a block of POOL (may be NULL) is gone. Returns the driver's pool that the caller must destroy without the
 * lock, or NULL. The caller holds the lock. */
CUmemoryPool heap_leave_pool(struct heap *heap, struct private_pool *pool);

/* Calls EACH for the heap's pool and the private pools, which are not destroyed meanwhile. The caller must not hold the
 * lock. */
void heap_each_pool(struct heap *heap, void (*each)(struct heap *heap, CUmemoryPool memory, void *data), void *data);

#endif
