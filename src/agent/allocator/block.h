/*
 * A block of memory that the driver gave, and what is known of it. From birth to death it is in one place at a time:
 *
 *     in use       the program has it: it stands in the heap's table, by address
 *     reusable     it was taken during a capture and freed in it: in the heap's list, held by graphs
 *     held         the program has freed it, graphs hold it: nowhere; the graphs' user objects lead to it
 *     deferred     it cannot be given back while a stream is being captured: in the heap's list
 *     being given  a thread has it, which is about to give it back
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_BLOCK_H
#define GPUTRACE_AGENT_ALLOCATOR_BLOCK_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/allocator.h>

struct private_pool;

struct block {
    uint64_t address;
    size_t bytes; /* that the program asked for */
    size_t room;  /* that the driver gave; more than bytes when it is used again */
    CUstream stream;
    struct gputrace_allocator_stream_stats *of_stream;
    struct private_pool *pool; /* that it is of; NULL: the heap's own */
    uint64_t time, sequence;   /* of the allocation */
    uint32_t thread;
    bool in_use;
    bool captured;    /* it was taken during a capture */
    bool reusable;    /* it stands in the heap's list of those */
    bool settled;     /* nothing but graphs uses it any more, and the stream of what is given back waits for that */
    unsigned graphs;  /* that hold it */
    uint64_t capture; /* the last one that took it; 0: none */
    CUstream freed_in;
    CUstream *others; /* streams recorded for it */
    unsigned other_count, other_room;
    struct block *next; /* in whichever list, or chain of the table */
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

/* One from SPARE, a stack that grows by many at once; all zero but for the room for other streams. NULL: no memory. */
struct block *block_new(struct block **spare);
/* Gives it back to SPARE. */
void block_recycle(struct block **spare, struct block *block);

/* Notes that STREAM uses it too. Gives 0, or -1: no memory. */
int block_add_stream(struct block *block, CUstream stream);

#endif
