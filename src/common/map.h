/*
 * A hash map whose keys are numbered from 0 as they come. A key has one or more 64-bit words. The map keeps a row for
 * each number: the key, and as many words after it as its user wants. Open addressing: slots hold the numbers of rows,
 * and rows lie densely one after another. Not thread-safe.
 */
#ifndef GPUTRACE_COMMON_MAP_H
#define GPUTRACE_COMMON_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"

/* All zero is empty. */
struct dense_map {
    uint64_t *rows;  /* they move when one is added */
    uint32_t *slots; /* numbers + 1 of the rows, from their hash's slot on; 0: free */
    unsigned shift;  /* from a hash to its slot */
    uint32_t count;  /* of the rows */
    uint32_t most;   /* rows before it grows: half of the slots */
    size_t words;    /* of a row */
};

/* What a row is. Every call for one map passes the same. */
struct dense_layout {
    uint16_t key, row; /* words of the key, and of the row */
    bool handles;      /* keys are hashed with dense_map_hash_handle(), else with dense_map_hash() */
};

#define DENSE_MAP_NONE UINT32_MAX

void dense_map_release(struct dense_map *map);

/* The number of KEY, whose row is added if it is new. DENSE_MAP_NONE: no memory. */
uint32_t dense_map_put(struct dense_map *map, const uint64_t *key, struct dense_layout layout, uint64_t hash);

/* Adds a row for KEY, which is not in the map. The words after the key are 0. Returns its number, or DENSE_MAP_NONE:
 * no memory. */
uint32_t dense_map_add(struct dense_map *map, const uint64_t *key, struct dense_layout layout, uint64_t hash);

/* Removes row NUMBER. The last row takes its place and number. */
void dense_map_remove(struct dense_map *map, uint32_t number, struct dense_layout layout);

/* The upper bits, which all words decide, choose the slot. */
static inline uint64_t dense_map_hash(const uint64_t *key, size_t words)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < words; i++)
        hash = (hash ^ hash >> 32 ^ key[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

/* The hash of a key of one word that may be an address or a handle: after one multiplication, keys at some equal
 * distances (1,240 bytes is one) come to lie in few places. */
static inline uint64_t dense_map_hash_handle(uint64_t key)
{
    uint64_t hash = dense_map_hash(&key, 1);
    return (hash ^ hash >> 32) * UINT64_C(0xe9846af9b1a615d);
}

static inline bool dense_map_is_key(const struct dense_map *map, uint32_t number, const uint64_t *key,
                                    struct dense_layout layout)
{
    const uint64_t *known = map->rows + number * layout.row;
    for (size_t i = 0; i < layout.key; i++)
        if (known[i] != key[i])
            return false;
    return true;
}

/* The number of KEY, or DENSE_MAP_NONE. */
static inline uint32_t dense_map_find(const struct dense_map *map, const uint64_t *key, struct dense_layout layout,
                                      uint64_t hash)
{
    if (!map->slots)
        return DENSE_MAP_NONE;
    for (size_t slot = hash >> map->shift;; slot++) {
        uint32_t found = map->slots[slot & ((size_t)2 * map->most - 1)];
        if (!found || dense_map_is_key(map, found - 1, key, layout))
            return found - 1;
    }
}

/* Finds KEY in a map whose rows are the keys alone, SIZE bytes each. */
static inline uint32_t dense_map_lookup(const struct dense_map *map, const void *key, size_t size)
{
    struct dense_layout layout = {(uint16_t)(size / sizeof(uint64_t)), (uint16_t)(size / sizeof(uint64_t)), false};
    return dense_map_find(map, key, layout, dense_map_hash(key, layout.key));
}

/* The number of KEY, whose row is added if it is new. The row is the key alone. DENSE_MAP_NONE: no memory. The usual
 * case is inline: the key is known, and in the slot where its search begins. */
static inline uint32_t dense_map_number(struct dense_map *map, const void *key, size_t size)
{
    struct dense_layout layout = {(uint16_t)(size / sizeof(uint64_t)), (uint16_t)(size / sizeof(uint64_t)), false};
    uint64_t hash = dense_map_hash(key, layout.key);
    uint32_t found = map->slots ? map->slots[hash >> map->shift] : 0;
    if (found && dense_map_is_key(map, found - 1, key, layout))
        return found - 1;
    return dense_map_put(map, key, layout, hash);
}

/* The item of ARRAY for KEY, made (zeroed) when the key is new. NULL: no memory. */
#define dense_map_item(map, key, array)                                                                   \
    ((__typeof__((array)->items))dense_map_item_bytes(map, key, sizeof(*(key)), (void **)&(array)->items, \
                                                      &(array)->count, &(array)->capacity, sizeof(*(array)->items)))
static inline void *dense_map_item_bytes(struct dense_map *map, const void *key, size_t key_size, void **items,
                                         size_t *count, size_t *capacity, size_t item_size)
{
    uint32_t number = dense_map_number(map, key, key_size);
    if (number < *count)
        return (char *)*items + number * item_size;
    return number == DENSE_MAP_NONE ? NULL : array_push_bytes(items, count, capacity, item_size);
}

/* Row NUMBER, valid until a row is added or removed. */
static inline const void *dense_map_row(const struct dense_map *map, size_t number)
{
    return map->rows + number * map->words;
}

/* --- a map of single keys and values --- */

/*
 * A hash map from 64-bit keys to 64-bit values, and an interner of strings. Not thread-safe. If an allocation fails,
 * the return value says so and the map is unchanged.
 */

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

/* MAP leads from a key to index + 1 in ARRAY. Returns the item of KEY; NULL: there is none. */
#define FIND_ITEM(array, map, key)                                            \
    ({                                                                        \
        const uint64_t *index_ = map_get((map), (key));                       \
        index_ != NULL && *index_ != 0 ? &(array)->items[*index_ - 1] : NULL; \
    })

/* Returns the item of KEY, which is added, all zero, if it is new. NULL: no memory. */
#define PUT_ITEM(array, map, key)                                             \
    ({                                                                        \
        uint64_t *index_ = map_put((map), (key), NULL);                       \
        if (index_ && *index_ == 0 && array_push(array))                      \
            *index_ = (array)->count;                                         \
        index_ != NULL && *index_ != 0 ? &(array)->items[*index_ - 1] : NULL; \
    })

#endif
