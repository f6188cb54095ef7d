/*
 * A block of memory that the driver gave, and what is known of it. A block is in one place at a time:
 *
 *     in use      the program has it: in the heap's table, by address
 *     reusable    it was allocated during a capture and freed in the same one: in the heap's list, held by graphs
 *     held        the program has freed it, graphs hold it: in no list; the graphs' user objects lead to it
 *     deferred    it cannot be released while a stream is being captured: in the heap's list
 *     releasing   a thread is about to release it
 */
#ifndef GPUTRACE_ALLOCATOR_BLOCK_H
#define GPUTRACE_ALLOCATOR_BLOCK_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/allocator.h>

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

/* Returns a block from SPARE, a stack that grows by many at once; all zero but the list of other streams, which is
 * empty. NULL: no memory. */
struct block *block_new(struct block **spare);
/* Returns BLOCK to SPARE. */
void block_recycle(struct block **spare, struct block *block);

/* Records that STREAM uses it too. Returns 0, or -1: no memory. */
int block_add_stream(struct block *block, CUstream stream);

/* Blocks by address. Chains, because blocks come and go all the time and must leave nothing behind. All zero is an
 * empty table. */
struct block_table {
    struct block **chains;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* Returns 0, or -1: no memory, and the table is as before. */
int block_table_add(struct block_table *table, struct block *block);

/* The block of ADDRESS; NULL: there is none. */
struct block *block_table_get(const struct block_table *table, uint64_t address);

/* Removes a block that is in the table. */
void block_table_remove(struct block_table *table, struct block *block);

/* Calls EACH for every block, in no order, until it returns non-zero; returns that, else 0. */
int block_table_each(const struct block_table *table, int (*each)(void *data, const struct block *block), void *data);

#endif
