/*
 * A hash map from 64-bit keys to 64-bit values, and an interner of strings. Not thread-safe. If an allocation fails,
 * the return value says so and the map is unchanged.
 */
#ifndef GPUTRACE_COMMON_MAP_H
#define GPUTRACE_COMMON_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dense_map.h"

struct map {
    struct dense_map pairs;
};

static inline size_t map_count(const struct map *map)
{
    return map->pairs.count;
}

/* All zero is an empty map: `struct map m = {0}`. */
void map_release(struct map *map);

/* The value of KEY, for reading and writing; NULL when there is none. Valid until the next map_put or map_remove. */
uint64_t *map_get(const struct map *map, uint64_t key);

/* The value of KEY, made 0 when it is new (then *is_new, which may be NULL, is true). NULL: no memory. */
uint64_t *map_put(struct map *map, uint64_t key, bool *is_new);

/* Sets the value of KEY. False: no memory. */
static inline bool map_set(struct map *map, uint64_t key, uint64_t value)
{
    uint64_t *place = map_put(map, key, NULL);
    if (place)
        *place = value;
    return place != NULL;
}

/* Removes KEY; false when it was not there. */
bool map_remove(struct map *map, uint64_t key);

/* Calls EACH for every pair, in the order they were put while none is removed, until it returns non-zero; returns that,
 * else 0. EACH may not change the map.
 */
int map_each(const struct map *map, int (*each)(void *context, uint64_t key, uint64_t *value), void *context);

/* A well-mixed hash of LENGTH bytes. */
uint64_t hash_bytes(const void *bytes, size_t length);

#define INTERNER_BITS 6
#define INTERNER_FIRST (UINT32_C(1) << INTERNER_BITS)

/* Strings kept once each, numbered from 0 in order of their first use. They and their entries stay where
 * they are until release: while one thread adds others, another may look at those whose numbers it was given. */
struct interner {
    struct map by_hash; /* hash -> index + 1 of the first string with it */
    struct interned {
        char *text; /* NUL-terminated, owned here */
        size_t length;
        uint32_t next_same_hash;   /* index + 1, 0 for none */
    } *blocks[32 - INTERNER_BITS]; /* the first of INTERNER_FIRST, each twice as long as the one before */
    size_t count;
};

void interner_release(struct interner *interner);

#define INTERN_NO_MEMORY UINT32_MAX
/* The number of TEXT, which is copied when it is new. */
uint32_t intern(struct interner *interner, const char *text, size_t length);

/* The entry of string NUMBER; that of INTERN_NO_MEMORY is empty. */
static inline struct interned *interner_at(const struct interner *interner, uint32_t number)
{
    static struct interned nothing = {.text = (char *)""}; /* never written */
    if (number == INTERN_NO_MEMORY)
        return &nothing;
    uint32_t place = number + INTERNER_FIRST; /* its highest bit is the block, the others the place in it */
    unsigned highest = 31 - (unsigned)__builtin_clz(place);
    return &interner->blocks[highest - INTERNER_BITS][place - (UINT32_C(1) << highest)];
}

static inline const char *interned(const struct interner *interner, uint32_t number)
{
    return interner_at(interner, number)->text;
}

#endif
