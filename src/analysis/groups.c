#include "analysis/groups.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BITS_FIRST 4 /* of the number of a slot */

void groups_release(struct groups *groups)
{
    free(groups->keys);
    free(groups->slots);
    *groups = (struct groups){0};
}

/* The slot that has the group of KEY, or is free for it. */
static uint32_t *probe(const struct groups *groups, const uint64_t *key, uint64_t hash)
{
    size_t slot = hash >> groups->shift, last = (size_t)2 * groups->most - 1;
    while (groups->slots[slot] && !groups_is_key(groups, groups->slots[slot] - 1, key, groups->words))
        slot = (slot + 1) & last;
    return &groups->slots[slot];
}

/* Doubles the number of slots. */
static bool grow(struct groups *groups)
{
    unsigned shift = groups->slots ? groups->shift - 1 : 64 - BITS_FIRST;
    if (shift <= 32)
        return false;
    size_t slots = (size_t)1 << (64 - shift);
    uint64_t *keys = realloc(groups->keys, slots / 2 * groups->words * sizeof(*keys));
    uint32_t *numbers = keys ? calloc(slots, sizeof(*numbers)) : NULL;
    groups->keys = keys ? keys : groups->keys;
    if (!numbers)
        return false;
    free(groups->slots);
    groups->slots = numbers;
    groups->shift = shift;
    groups->most = (uint32_t)(slots / 2);
    for (uint32_t i = 0; i < groups->count; i++) {
        const uint64_t *key = groups_key(groups, i);
        *probe(groups, key, groups_hash(key, groups->words)) = i + 1;
    }
    return true;
}

uint32_t groups_find(struct groups *groups, const uint64_t *key, size_t words, uint64_t hash)
{
    groups->words = words;
    uint32_t *slot = groups->slots ? probe(groups, key, hash) : NULL;
    if (slot && *slot)
        return *slot - 1;
    if (groups->count == groups->most) {
        if (!grow(groups))
            return GROUPS_NO_MEMORY;
        slot = probe(groups, key, hash);
    }
    memcpy(groups->keys + groups->count * words, key, words * sizeof(*key));
    *slot = ++groups->count;
    return groups->count - 1;
}
