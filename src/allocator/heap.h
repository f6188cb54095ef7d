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

/* Records that STREAM uses it too. Returns 0, or -1: no memory. */
int block_add_stream(struct block *block, CUstream stream);

/* Blocks by address. Chains, because blocks come and go all the time and must leave nothing behind. All zero is an
 * empty table. */
struct block_table {
    struct block **chains;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

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
