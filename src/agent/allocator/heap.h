/*
 * A device's memory as the allocator has it: the pool it comes from, the blocks that live, what is counted of them.
 *
 * Its lock guards all that is marked so. It is held for a few tens of instructions and never while CUDA is called: the
 * driver calls back (CUPTI's callbacks, and through them plugins and the program), and who is called may allocate.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_HEAP_H
#define GPUTRACE_AGENT_ALLOCATOR_HEAP_H

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <gputrace/allocator.h>

#include "common/map.h"
#include "agent/allocator/block_table.h"
#include "agent/allocator/cuda_calls.h"
#include "agent/allocator/history.h"
#include "agent/allocator/private_pool.h"

#define CACHE_LINE 64
#define HEAPS_MAX 64              /* devices */
#define HEAP_LIMIT ((CUresult)-1) /* beside CUDA's errors: an allocation would go beyond the heap's limit */

struct hold; /* graph_memory.h */

struct heap {
    int device;
    const struct cuda_calls *cuda;
    CUcontext context;   /* the device's primary one */
    CUmemoryPool memory; /* the pool that is the allocator's */
    CUstream taking;     /* own streams, made when they are needed: memory for captures is taken in this one … */
    CUstream giving;     /* … and what graphs have held is given back in that one */

    /* Atomically: */
    struct hold *returned; /* by graphs that are gone; a stack */
    unsigned pending;      /* of `returned` and `deferred`: somebody should look */

    /* What is above is read by every call and hardly ever changes. Beside the lock, each thread that takes that would
     * take it away from all others. */
    char apart[CACHE_LINE];

    pthread_mutex_t lock; /* who waits spins first: it is free again before he would have slept */
    /* Under the lock: */
    struct gputrace_allocator_stats stats;
    uint64_t asked;            /* bytes held, and those that the driver is being asked for */
    uint64_t sequence;         /* of the last event */
    uint64_t threshold;        /* of its pools, bytes */
    uint64_t peers;            /* a bit for each device that may use its memory */
    struct block_table blocks; /* in use */
    struct map streams;        /* handle -> struct gputrace_allocator_stream_stats, which stay */
    struct block *spare, *reusable, *deferred;
    struct private_pool *pools;
    struct history history;
};

/* The heap of DEVICE, made at its first use. NULL: no such device, no CUDA (the user is told), a forked child. */
struct heap *heap_of(int device);
/* The same, but NULL also when it was not made yet. */
struct heap *heap_known(int device);
/* The heap, with its lock held, that has POINTER in use, and in *BLOCK its block; the one of DEVICE (any number) is
 * looked into first. NULL: there is none, and no lock is held. */
struct heap *heap_lock_owner(const void *pointer, int device, struct block **block);

/* A pool on its device as the heap's settings have it. Without the lock. NULL: the driver refuses. */
CUmemoryPool heap_make_pool(struct heap *heap);

/* The statistics of STREAM, with the lock held; NULL: no memory. */
struct gputrace_allocator_stream_stats *heap_stream(struct heap *heap, CUstream stream);

/* A block for BYTES in STREAM, whose capture is CAPTURE (0: none), that the driver is about to be asked for: stream,
 * pool and bytes are filled in. Without the lock. NULL: *RESULT is HEAP_LIMIT, or CUDA_ERROR_OUT_OF_MEMORY for want of
 * the host's. */
struct block *heap_ask(struct heap *heap, size_t bytes, CUstream stream, uint64_t capture, CUresult *result);
/* The driver gave none. */
void heap_give_up(struct heap *heap, struct block *block);

static inline void heap_lock(struct heap *heap)
{
    pthread_mutex_lock(&heap->lock);
}

static inline void heap_unlock(struct heap *heap)
{
    pthread_mutex_unlock(&heap->lock);
}

#endif
