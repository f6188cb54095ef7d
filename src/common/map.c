#include "common/map.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xe9846af9b1a615d);
    x ^= x >> 32;
    x *= UINT64_C(0xe9846af9b1a615d);
    return x ^ (x >> 28);
}

uint64_t hash_bytes(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint64_t hash = mix(length + 1);
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = mix(hash ^ word);
        at += 8;
        length -= 8;
    }
    uint64_t rest = 0;
    if (length > 0) /* BYTES may be NULL then */
        memcpy(&rest, at, length);
    return mix(hash ^ rest);
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

/* Where the next string goes; NULL: no memory, or no number. */
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
