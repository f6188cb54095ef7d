/*
 * Blocks by their address: chains, as blocks come and go all the time and must leave nothing behind.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_BLOCK_TABLE_H
#define GPUTRACE_AGENT_ALLOCATOR_BLOCK_TABLE_H

#include "agent/allocator/block.h"

/* All zero is an empty table. */
struct block_table {
    struct block **chains;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* Gives 0, or -1: no memory, and it is as before. */
int block_table_put(struct block_table *table, struct block *block);

/* The block of ADDRESS; NULL: there is none. */
struct block *block_table_get(const struct block_table *table, uint64_t address);

/* Takes out a block that is in it. */
void block_table_remove(struct block_table *table, struct block *block);

/* Calls EACH for every block, in no order, until it gives non-zero; gives that, else 0. */
int block_table_each(const struct block_table *table, int (*each)(void *data, const struct block *block), void *data);

#endif
