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

/* Initialise with zeros. */
struct dense_map {
    uint64_t *rows;  /* rows move when a row is added */
    uint32_t *slots; /* number + 1 of a row, in the slot of its hash or a later one; 0: free */
    unsigned shift;  /* the slot of a hash is hash >> shift */
    uint32_t count;  /* number of rows */
    uint32_t most;   /* rows at which the map grows: half of the slots */
    size_t words;    /* words of a row */
};

/* The layout of a row. All calls for a map must pass the same layout. */
struct dense_layout {
    uint16_t key, row; /* words of the key, and of the row */
    bool handles;      /* keys are hashed with dense_map_hash_handle(), else with dense_map_hash() */
};

#define DENSE_MAP_NONE UINT32_MAX

void dense_map_release(struct dense_map *map);

/* Returns the number of KEY, whose row is added if KEY is new. Returns DENSE_MAP_NONE without memory. */
uint32_t dense_map_put(struct dense_map *map, const uint64_t *key, struct dense_layout layout, uint64_t hash);

/* Adds a row for KEY, which must not be in the map. The words after the key are 0. Returns its number, or
 * DENSE_MAP_NONE: no memory. */
uint32_t dense_map_add(struct dense_map *map, const uint64_t *key, struct dense_layout layout, uint64_t hash);

/* Removes row NUMBER. The last row takes its place and number. */
void dense_map_remove(struct dense_map *map, uint32_t number, struct dense_layout layout);

/* Returns the hash of a key. Its upper bits, which depend on all words, choose the slot. */
static inline uint64_t dense_map_hash(const uint64_t *key, size_t words)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < words; i++)
        hash = (hash ^ hash >> 32 ^ key[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

/* Returns the hash of a key of one word that may be an address or a handle. With only one multiplication, keys at some
 * equal distances, such as 1,240 bytes, would share few slots. */
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

/* Returns the number of KEY, or DENSE_MAP_NONE. */
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

/* Returns the number of KEY, whose row, the key alone, is added if KEY is new. Returns DENSE_MAP_NONE without memory.
 * The usual case is inline: the key is in the slot where its search begins. */
static inline uint32_t dense_map_number(struct dense_map *map, const void *key, size_t size)
{
    struct dense_layout layout = {(uint16_t)(size / sizeof(uint64_t)), (uint16_t)(size / sizeof(uint64_t)), false};
    uint64_t hash = dense_map_hash(key, layout.key);
    uint32_t found = map->slots ? map->slots[hash >> map->shift] : 0;
    if (found && dense_map_is_key(map, found - 1, key, layout))
        return found - 1;
    return dense_map_put(map, key, layout, hash);
}

/* Returns the item of ARRAY for KEY, which is added, zeroed, if KEY is new. Returns NULL without memory. */
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

/* Returns row NUMBER, which is valid until a row is added or removed. */
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

/* Frees the map and makes it empty. A new map is all zero: `struct map m = {0}`. */
void map_release(struct map *map);

/* Returns the value of KEY, for reading and writing, or NULL if KEY is not in the map. The pointer is valid until the
 * next map_put or map_remove. */
uint64_t *map_get(const struct map *map, uint64_t key);

/* Returns the value of KEY, which is added with 0 if it is new. Sets *IS_NEW unless IS_NEW is NULL. Returns NULL
 * without memory. */
uint64_t *map_put(struct map *map, uint64_t key, bool *is_new);

/* Sets the value of KEY. Returns false without memory. */
static inline bool map_set(struct map *map, uint64_t key, uint64_t value)
{
    uint64_t *place = map_put(map, key, NULL);
    if (place)
        *place = value;
    return place != NULL;
}

/* Removes KEY. Returns false if KEY was not in the map. */
bool map_remove(struct map *map, uint64_t key);

/* Calls EACH for every pair until EACH returns non-zero, and returns its last result. Pairs come in the order in which
 * they were added unless a key was removed. EACH must not change the map. */
int map_each(const struct map *map, int (*each)(void *context, uint64_t key, uint64_t *value), void *context);

/* Returns a well-mixed hash of LENGTH bytes. */
uint64_t hash_bytes(const void *bytes, size_t length);

#define INTERNER_BITS 6
#define INTERNER_FIRST (UINT32_C(1) << INTERNER_BITS)

/* Strings that are stored once each, numbered from 0 in the order of their first use. Strings and entries never move:
 * while one thread adds strings, another may read those whose numbers it knows. */
struct interner {
    struct map by_hash; /* hash -> number + 1 of the newest string with this hash */
    struct interned {
        char *text; /* NUL-terminated, owned here */
        size_t length;
        uint32_t next_same_hash;   /* number + 1 of the next older one; 0: none */
    } *blocks[32 - INTERNER_BITS]; /* block I has INTERNER_FIRST << I entries */
    size_t count;
};

void interner_release(struct interner *interner);

#define INTERN_NO_MEMORY UINT32_MAX
/* Returns the number of TEXT, which is copied if it is new. Returns INTERN_NO_MEMORY without memory. */
uint32_t intern(struct interner *interner, const char *text, size_t length);

/* Returns the entry of string NUMBER; for INTERN_NO_MEMORY an empty one. */
static inline struct interned *interner_at(const struct interner *interner, uint32_t number)
{
    static struct interned nothing = {.text = (char *)""}; /* never written */
    if (number == INTERN_NO_MEMORY)
        return &nothing;
    uint32_t place = number + INTERNER_FIRST; /* the highest bit selects the block, the other bits the entry */
    unsigned highest = 31 - (unsigned)__builtin_clz(place);
    return &interner->blocks[highest - INTERNER_BITS][place - (UINT32_C(1) << highest)];
}

static inline const char *interned(const struct interner *interner, uint32_t number)
{
    return interner_at(interner, number)->text;
}

/* Returns the item of KEY, or NULL if there is none. MAP leads from a key to index + 1 in ARRAY. */
#define FIND_ITEM(array, map, key)                                            \
    ({                                                                        \
        const uint64_t *index_ = map_get((map), (key));                       \
        index_ != NULL && *index_ != 0 ? &(array)->items[*index_ - 1] : NULL; \
    })

/* Returns the item of KEY, which is added, all zero, if KEY is new. Returns NULL without memory. */
#define PUT_ITEM(array, map, key)                                             \
    ({                                                                        \
        uint64_t *index_ = map_put((map), (key), NULL);                       \
        if (index_ && *index_ == 0 && array_push(array))                      \
            *index_ = (array)->count;                                         \
        index_ != NULL && *index_ != 0 ? &(array)->items[*index_ - 1] : NULL; \
    })

#endif
