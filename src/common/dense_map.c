/*
 * The slots of the hash table and the rows that they lead to. Lookups of the usual key lengths are inlined in the
 * header; here is what grows, adds and removes.
 */
#include "common/dense_map.h"

#include <stdlib.h>
#include <string.h>

#define BITS_FIRST 4 /* of the number of a slot */

void dense_map_release(struct dense_map *map)
{
    free(map->rows);
    free(map->slots);
    *map = (struct dense_map){0};
}

static size_t last_slot(const struct dense_map *map)
{
    return (size_t)2 * map->most - 1;
}

static size_t home_of(const struct dense_map *map, uint32_t number, struct dense_layout layout)
{
    const uint64_t *key = map->rows + number * layout.row;
    return (layout.handles ? dense_map_hash_handle(*key) : dense_map_hash(key, layout.key)) >> map->shift;
}

/* The first slot from HOME on that holds VALUE, which some slot does: a number + 1, or 0. */
static size_t slot_of(const struct dense_map *map, size_t home, uint32_t value)
{
    while (map->slots[home] != value)
        home = (home + 1) & last_slot(map);
    return home;
}

/* Doubles the number of slots. */
static bool grow(struct dense_map *map, struct dense_layout layout)
{
    unsigned shift = map->slots ? map->shift - 1 : 64 - BITS_FIRST;
    if (shift <= 32)
        return false;
    size_t count = (size_t)1 << (64 - shift);
    uint64_t *rows = realloc(map->rows, count / 2 * layout.row * sizeof(*rows));
    uint32_t *slots = rows ? calloc(count, sizeof(*slots)) : NULL;
    map->rows = rows ? rows : map->rows;
    if (!slots)
        return false;
    free(map->slots);
    map->slots = slots;
    map->shift = shift;
    map->most = (uint32_t)(count / 2);
    map->words = layout.row;
    for (uint32_t i = 0; i < map->count; i++)
        slots[slot_of(map, home_of(map, i, layout), 0)] = i + 1;
    return true;
}

uint32_t dense_map_add(struct dense_map *map, const uint64_t *key, struct dense_layout layout, uint64_t hash)
{
    if (map->count == map->most && !grow(map, layout))
        return DENSE_MAP_NONE;
    uint64_t *row = map->rows + map->count * layout.row;
    memset(row, 0, layout.row * sizeof(*row));
    memcpy(row, key, layout.key * sizeof(*row));
    map->slots[slot_of(map, hash >> map->shift, 0)] = map->count + 1;
    return map->count++;
}

uint32_t dense_map_put(struct dense_map *map, const uint64_t *key, struct dense_layout layout, uint64_t hash)
{
    uint32_t number = dense_map_find(map, key, layout, hash);
    return number != DENSE_MAP_NONE ? number : dense_map_add(map, key, layout, hash);
}

/* Empties a slot. Those behind it move up where a search from their home would stop at the gap. */
static void close_gap(struct dense_map *map, size_t gap, struct dense_layout layout)
{
    size_t last = last_slot(map);
    for (size_t at = (gap + 1) & last; map->slots[at]; at = (at + 1) & last) {
        size_t home = home_of(map, map->slots[at] - 1, layout);
        if (((at - home) & last) < ((at - gap) & last))
            continue;
        map->slots[gap] = map->slots[at];
        gap = at;
    }
    map->slots[gap] = 0;
}

void dense_map_remove(struct dense_map *map, uint32_t number, struct dense_layout layout)
{
    uint32_t moved = map->count - 1;
    close_gap(map, slot_of(map, home_of(map, number, layout), number + 1), layout);
    if (moved != number) {
        map->slots[slot_of(map, home_of(map, moved, layout), moved + 1)] = number + 1;
        memcpy(map->rows + number * layout.row, map->rows + moved * layout.row, layout.row * sizeof(*map->rows));
    }
    map->count--;
}
