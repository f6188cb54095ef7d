/*
 * The slots of the hash table and the rows that they lead to. Lookups of the usual key lengths are inlined in the
 * header; this file grows maps and adds and removes rows. The map of 64-bit keys is a dense_map whose rows hold key and
 * value. The texts of the interner lie in blocks that never move.
 */
#include "common/map.h"

#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

#define BITS_FIRST 4 /* bits of a slot's number at first */

void dense_map_release(struct dense_map *map)
{
    free(map->rows);
    free(map->slots);
    *map = (struct dense_map){0};
}

static size_t home_of(const struct dense_map *map, uint32_t number, struct dense_layout layout)
{
    const uint64_t *key = map->rows + number * layout.row;
    return (layout.handles ? dense_map_hash_handle(*key) : dense_map_hash(key, layout.key)) >> map->shift;
}

/* Returns the first slot from HOME on that holds VALUE, a row's number + 1 or 0. There must be such a slot. */
static size_t slot_of(const struct dense_map *map, size_t home, uint32_t value)
{
    while (map->slots[home] != value)
        home = (home + 1) & ((size_t)2 * map->most - 1);
    return home;
}

/* Doubles the number of slots. Returns false without memory. */
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

void dense_map_remove(struct dense_map *map, uint32_t number, struct dense_layout layout)
{
    uint32_t moved = map->count - 1;
    /* Empty the slot. An entry behind it moves up if a search from its home would stop at the gap. */
    size_t gap = slot_of(map, home_of(map, number, layout), number + 1);
    size_t last = (size_t)2 * map->most - 1;
    for (size_t at = (gap + 1) & last; map->slots[at]; at = (at + 1) & last) {
        size_t home = home_of(map, map->slots[at] - 1, layout);
        if (((at - home) & last) < ((at - gap) & last))
            continue;
        map->slots[gap] = map->slots[at];
        gap = at;
    }
    map->slots[gap] = 0;
    if (moved != number) {
        map->slots[slot_of(map, home_of(map, moved, layout), moved + 1)] = number + 1;
        memcpy(map->rows + number * layout.row, map->rows + moved * layout.row, layout.row * sizeof(*map->rows));
    }
    map->count--;
}

/* --- a map of single keys and values --- */

/* Odd numbers whose bits have no pattern. */
#define FOLD_FIRST UINT64_C(0xd1b54a32d192ed03)
#define FOLD_LAST UINT64_C(0x9e3779b97f4a7c15)

/* Returns the two halves of the product of two words, combined by exclusive or. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Hashes two words at a time. The last two words are the beginning and the end of the rest, and may overlap. */
uint64_t hash_bytes(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint64_t hash = (length + 1) * FOLD_LAST, first = 0, last = 0;
    for (; length > 16; length -= 16, at += 16)
        hash = fold(LOAD(uint64_t, at) ^ FOLD_FIRST, LOAD(uint64_t, at + 8) ^ hash);
    if (length >= 8) {
        first = LOAD(uint64_t, at);
        last = LOAD(uint64_t, at + length - 8);
    } else if (length >= 4) {
        first = LOAD(uint32_t, at);
        last = LOAD(uint32_t, at + length - 4);
    } else if (length > 0) {
        first = (uint64_t)at[0] << 16 | (uint64_t)at[length / 2] << 8 | at[length - 1];
    }
    return fold(fold(first ^ FOLD_FIRST, last ^ hash) ^ FOLD_FIRST, FOLD_LAST);
}

/* A row is a key and its value. */
static const struct dense_layout layout = {1, 2, true};

void map_release(struct map *map)
{
    dense_map_release(&map->pairs);
}

static uint64_t *value_of(const struct map *map, uint32_t number)
{
    return number == DENSE_MAP_NONE ? NULL : &map->pairs.rows[number * layout.row + 1];
}

uint64_t *map_get(const struct map *map, uint64_t key)
{
    return value_of(map, dense_map_find(&map->pairs, &key, layout, dense_map_hash_handle(key)));
}

uint64_t *map_put(struct map *map, uint64_t key, bool *is_new)
{
    uint64_t hash = dense_map_hash_handle(key);
    uint32_t number = dense_map_find(&map->pairs, &key, layout, hash);
    bool fresh = number == DENSE_MAP_NONE;
    if (fresh && (number = dense_map_add(&map->pairs, &key, layout, hash)) == DENSE_MAP_NONE)
        return NULL;
    if (is_new)
        *is_new = fresh;
    return value_of(map, number);
}

bool map_remove(struct map *map, uint64_t key)
{
    uint32_t number = dense_map_find(&map->pairs, &key, layout, dense_map_hash_handle(key));
    if (number == DENSE_MAP_NONE)
        return false;
    dense_map_remove(&map->pairs, number, layout);
    return true;
}

int map_each(const struct map *map, int (*each)(void *, uint64_t, uint64_t *), void *context)
{
    int result = 0;
    for (uint32_t i = 0; i < map->pairs.count && result == 0; i++)
        result = each(context, map->pairs.rows[i * layout.row], value_of(map, i));
    return result;
}

void interner_release(struct interner *interner)
{
    for (uint32_t i = 0; i < interner->count; i++)
        free(interner_at(interner, i)->text);
    for (size_t i = 0; i < sizeof(interner->blocks) / sizeof(*interner->blocks) && interner->blocks[i]; i++)
        free(interner->blocks[i]);
    map_release(&interner->by_hash);
    *interner = (struct interner){0};
}

/* Returns the place of the next string, or NULL if no memory or no number is left. */
static struct interned *next_string(struct interner *interner)
{
    if (interner->count >= UINT32_MAX - INTERNER_FIRST)
        return NULL;
    uint32_t place = (uint32_t)interner->count + INTERNER_FIRST;
    unsigned block = 31 - (unsigned)__builtin_clz(place) - INTERNER_BITS;
    if (!interner->blocks[block])
        interner->blocks[block] = malloc(((size_t)INTERNER_FIRST << block) * sizeof(*interner->blocks[block]));
    return interner->blocks[block] ? interner_at(interner, (uint32_t)interner->count) : NULL;
}

uint32_t intern(struct interner *interner, const char *text, size_t length)
{
    uint64_t *first = map_put(&interner->by_hash, hash_bytes(text, length), NULL);
    if (!first)
        return INTERN_NO_MEMORY;
    for (uint64_t next = *first; next != 0;) {
        const struct interned *candidate = interner_at(interner, (uint32_t)(next - 1));
        if (candidate->length == length && memcmp(candidate->text, text, length) == 0)
            return (uint32_t)(next - 1);
        next = candidate->next_same_hash;
    }
    struct interned *added = next_string(interner);
    char *copy = added ? malloc(length + 1) : NULL;
    if (!copy)
        return INTERN_NO_MEMORY;
    memcpy(copy, text, length);
    copy[length] = '\0';
    *added = (struct interned){.text = copy, .length = length, .next_same_hash = (uint32_t)*first};
    *first = ++interner->count;
    return (uint32_t)(interner->count - 1);
}
