/* Blocks of bits in a map by the upper bits of the ids. */
#include "trace/id_set.h"

#include <stdlib.h>

#define ID_SET_BLOCK 1024u /* ids */

struct id_block {
    uint64_t bits[ID_SET_BLOCK / 64];
};

static struct id_block *block_at(uint64_t value)
{
    return (struct id_block *)(uintptr_t)value;
}

static int free_block(void *context, uint64_t key, uint64_t *value)
{
    (void)context, (void)key;
    free(block_at(*value));
    return 0;
}

void id_set_release(struct id_set *set)
{
    map_each(&set->blocks, free_block, NULL);
    map_release(&set->blocks);
}

int id_set_add(struct id_set *set, uint32_t id)
{
    uint64_t *place = map_put(&set->blocks, id / ID_SET_BLOCK, NULL);
    if (!place)
        return -1;
    if (*place == 0)
        *place = (uint64_t)(uintptr_t)calloc(1, sizeof(struct id_block));
    if (*place == 0)
        return -1;
    block_at(*place)->bits[id % ID_SET_BLOCK / 64] |= UINT64_C(1) << id % 64;
    return 0;
}

bool id_set_has(const struct id_set *set, uint32_t id)
{
    const uint64_t *place = map_get(&set->blocks, id / ID_SET_BLOCK);
    return place && *place && block_at(*place)->bits[id % ID_SET_BLOCK / 64] >> id % 64 & 1;
}
