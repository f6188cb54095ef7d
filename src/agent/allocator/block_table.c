#include "agent/allocator/block_table.h"

#include <stdlib.h>

#define CAPACITY_FIRST 1024

/* Addresses are multiples of 512 and more: their lowest bits tell nothing. */
static struct block **chain_of(const struct block_table *table, uint64_t address)
{
    return &table->chains[(address * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (table->capacity - 1)];
}

static int grow(struct block_table *table)
{
    struct block_table grown = {.capacity = table->capacity ? table->capacity * 2 : CAPACITY_FIRST};
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

int block_table_put(struct block_table *table, struct block *block)
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
