/*
 * The hash functions, the map of 64-bit keys (a dense_map whose rows hold key and value), and the interner, whose
 * texts lie in blocks that never move.
 */
#include "common/map.h"

#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

/* Odd numbers whose bits have no pattern. */
#define FOLD_FIRST UINT64_C(0xd1b54a32d192ed03)
#define FOLD_LAST UINT64_C(0x9e3779b97f4a7c15)

/* The product of two words, its halves put together. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Two words at a time. The last two begin and end where the rest does, and may overlap. */
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

static uint32_t find_among(const struct interner *interner, uint64_t first, const char *text, size_t length)
{
    for (uint64_t next = first; next != 0;) {
        const struct interned *candidate = interner_at(interner, (uint32_t)(next - 1));
        if (candidate->length == length && memcmp(candidate->text, text, length) == 0)
            return (uint32_t)(next - 1);
        next = candidate->next_same_hash;
    }
    return INTERN_NO_MEMORY;
}

/* Returns the place of the next string; NULL: no memory, or no number is left. */
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
    uint32_t found = find_among(interner, *first, text, length);
    if (found != INTERN_NO_MEMORY)
        return found;
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
