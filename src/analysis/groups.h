/*
 * Numbers for keys of several parts: the groups of a section's rows. A key is a struct of 64-bit fields, and all keys
 * of one `struct groups` are of one size.
 */
#ifndef GPUTRACE_ANALYSIS_GROUPS_H
#define GPUTRACE_ANALYSIS_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"

/* All zero is empty. */
struct groups {
    uint64_t *keys;  /* of all groups, one after another; they move when one is added */
    uint32_t *slots; /* numbers + 1 of the groups, from their hash's slot on; 0: free */
    unsigned shift;  /* from a hash to its slot */
    size_t words;    /* of a key */
    uint32_t count;  /* of the groups */
    uint32_t most;   /* groups before it grows: half of the slots */
};

#define GROUPS_NO_MEMORY UINT32_MAX

void groups_release(struct groups *groups);

/* The number of KEY, of WORDS fields, by its HASH; it may be new. */
uint32_t groups_find(struct groups *groups, const uint64_t *key, size_t words, uint64_t hash);

/* Slots are of its upper bits, which all fields decide. */
static inline uint64_t groups_hash(const uint64_t *key, size_t words)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < words; i++)
        hash = (hash ^ hash >> 32 ^ key[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

static inline int groups_is_key(const struct groups *groups, uint32_t number, const uint64_t *key, size_t words)
{
    const uint64_t *known = groups->keys + number * words;
    for (size_t i = 0; i < words; i++)
        if (known[i] != key[i])
            return 0;
    return 1;
}

/* The number of KEY, counted from 0 as they come; GROUPS_NO_MEMORY. Here stands what is usual: it is known, and in the
 * slot where it belongs. */
static inline uint32_t groups_number(struct groups *groups, const void *key, size_t size)
{
    size_t words = size / sizeof(uint64_t);
    uint64_t hash = groups_hash(key, words);
    uint32_t found = groups->slots ? groups->slots[hash >> groups->shift] : 0;
    if (found && groups_is_key(groups, found - 1, key, words))
        return found - 1;
    return groups_find(groups, key, words, hash);
}

/* The item of ARRAY for the group of KEY, made (zeroed) when it is new. NULL: no memory. */
#define groups_item(groups, key, array)                                                                   \
    ((__typeof__((array)->items))groups_item_bytes(groups, key, sizeof(*(key)), (void **)&(array)->items, \
                                                   &(array)->count, &(array)->capacity, sizeof(*(array)->items)))
static inline void *groups_item_bytes(struct groups *groups, const void *key, size_t key_size, void **items,
                                      size_t *count, size_t *capacity, size_t item_size)
{
    uint32_t number = groups_number(groups, key, key_size);
    if (number < *count)
        return (char *)*items + number * item_size;
    return number == GROUPS_NO_MEMORY ? NULL : array_push_bytes(items, count, capacity, item_size);
}

/* The key of group NUMBER, valid until another group is added. */
static inline const void *groups_key(const struct groups *groups, size_t number)
{
    return groups->keys + number * groups->words;
}

#endif
