/*
 * A map from 64-bit keys, such as addresses, to 64-bit values, for plugins that keep something for each of millions of
 * things. Open addressing with linear probing; removing leaves no marks behind. Key 0 is not a key.
 *
 *     struct address_map map = {0};
 *     address_map_put(&map, address, number);      true: done; false: no memory, nothing changed
 *     uint64_t *number = address_map_find(&map, address);          NULL: none; valid until the next put or remove
 *     address_map_remove(&map, address);
 *     for (size_t i = 0; i < map.capacity; i++)        all of them, in no order
 *         if (map.slots[i].key) …
 *     address_map_release(&map);
 *
 * One thread at a time.
 */
#ifndef GPUTRACE_PLUGINS_ADDRESS_MAP_H
#define GPUTRACE_PLUGINS_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct address_map_slot {
    uint64_t key, value;
};

struct address_map {
    struct address_map_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* Addresses are multiples of large powers of two: their upper bits must reach the lower ones. */
static inline size_t address_map_home(const struct address_map *map, uint64_t key)
{
    uint64_t mixed = key * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed ^ mixed >> 32) & (map->capacity - 1);
}

/* The slot of KEY, or the free one where it would be. The map has space. */
static inline struct address_map_slot *address_map_slot(const struct address_map *map, uint64_t key)
{
    size_t at = address_map_home(map, key);
    while (map->slots[at].key != 0 && map->slots[at].key != key)
        at = (at + 1) & (map->capacity - 1);
    return &map->slots[at];
}

static inline uint64_t *address_map_find(const struct address_map *map, uint64_t key)
{
    struct address_map_slot *slot = map->count ? address_map_slot(map, key) : NULL;
    return slot && slot->key ? &slot->value : NULL;
}

static inline bool address_map_grow(struct address_map *map)
{
    struct address_map bigger = {.capacity = map->capacity ? 2 * map->capacity : 64, .count = map->count};
    bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key)
            *address_map_slot(&bigger, map->slots[i].key) = map->slots[i];
    free(map->slots);
    *map = bigger;
    return true;
}

static inline bool address_map_put(struct address_map *map, uint64_t key, uint64_t value)
{
    if (4 * (map->count + 1) > 3 * map->capacity && !address_map_grow(map))
        return false;
    struct address_map_slot *slot = address_map_slot(map, key);
    map->count += slot->key == 0;
    *slot = (struct address_map_slot){key, value};
    return true;
}

/* What follows in the same run moves up when it is farther from its home than the gap, so that no search stops short.
 */
static inline void address_map_remove(struct address_map *map, uint64_t key)
{
    struct address_map_slot *slot = map->count ? address_map_slot(map, key) : NULL;
    if (!slot || !slot->key)
        return;
    size_t mask = map->capacity - 1, gap = (size_t)(slot - map->slots);
    for (size_t at = (gap + 1) & mask; map->slots[at].key; at = (at + 1) & mask) {
        size_t from_home = (at - address_map_home(map, map->slots[at].key)) & mask;
        if (from_home >= ((at - gap) & mask)) {
            map->slots[gap] = map->slots[at];
            gap = at;
        }
    }
    map->slots[gap].key = 0;
    map->count--;
}

static inline void address_map_release(struct address_map *map)
{
    free(map->slots);
    *map = (struct address_map){0};
}

#endif
