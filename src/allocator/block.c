#include "allocator/block.h"

#include <stdlib.h>

#define BLOCKS_AT_ONCE 128
#define TABLE_CAPACITY_FIRST 1024

struct block *block_new(struct block **spare)
{
    if (!*spare) {
        struct block *blocks = calloc(BLOCKS_AT_ONCE, sizeof(*blocks));
        for (unsigned i = 0; blocks && i < BLOCKS_AT_ONCE; i++)
            block_push(spare, &blocks[i]);
    }
    return block_pop(spare);
}

void block_recycle(struct block **spare, struct block *block)
{
    *block = (struct block){.others = block->others, .other_capacity = block->other_capacity};
    block_push(spare, block);
}

int block_add_stream(struct block *block, CUstream stream)
{
    if (stream == block->stream)
        return 0;
    for (unsigned i = 0; i < block->other_count; i++)
        if (block->others[i] == stream)
            return 0;
    if (block->other_count == block->other_capacity) {
        unsigned capacity = block->other_capacity ? block->other_capacity * 2 : 4;
        CUstream *grown = realloc(block->others, capacity * sizeof(*grown));
        if (!grown)
            return -1;
        block->others = grown;
        block->other_capacity = capacity;
    }
    block->others[block->other_count++] = stream;
    return 0;
}

/* --- by address --- */

/* Addresses are multiples of 512 or more, so their lowest bits say little. */
static struct block **chain_of(const struct block_table *table, uint64_t address)
{
    return &table->chains[(address * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (table->capacity - 1)];
}

static int grow(struct block_table *table)
{
    struct block_table grown = {.capacity = table->capacity ? table->capacity * 2 : TABLE_CAPACITY_FIRST};
    grown.count = table->count;
    grown.chains = calloc(grown.capacity, sizeof(*grown.chains));
    if (!grown.chains)
        return -1;
    for (size_t i = 0; i < table->capacity; i++) {
        struct block *block;
        while ((block = block_pop(&table->chains[i])))
            block_push(chain_of(&grown, block->address), block);
    }
    free(table->chains);
    *table = grown;
    return 0;
}

int block_table_add(struct block_table *table, struct block *block)
{
    if (table->count == table->capacity && grow(table) != 0)
        return -1;
    block_push(chain_of(table, block->address), block);
    table->count++;
    return 0;
}

struct block *block_table_get(const struct block_table *table, uint64_t address)
{
    struct block *block = table->count ? *chain_of(table, address) : NULL;
    while (block && block->address != address)
        block = block->next;
    return block;
}

void block_table_remove(struct block_table *table, struct block *block)
{
    struct block **at = chain_of(table, block->address);
    while (*at != block)
        at = &(*at)->next;
    *at = block->next;
    table->count--;
}

int block_table_each(const struct block_table *table, int (*each)(void *data, const struct block *block), void *data)
{
    for (size_t i = 0; i < table->capacity; i++) {
        for (const struct block *block = table->chains[i]; block; block = block->next) {
            int result = each(data, block);
            if (result)
                return result;
        }
    }
    return 0;
}
