#include "common/map.h"

#include <stdlib.h>
#include <string.h>

enum slot_state { SLOT_EMPTY, SLOT_USED, SLOT_REMOVED };

struct map_slot {
    uint64_t key;
    uint64_t value;
    enum slot_state state;
};

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

void map_release(struct map *map)
{
    free(map->slots);
    *map = (struct map){0};
}

/* The slot of KEY, or the slot where it would be put. The map has room. */
static struct map_slot *probe(const struct map *map, uint64_t key)
{
    struct map_slot *reusable = NULL;
    for (size_t i = mix(key);; i++) {
        struct map_slot *slot = &map->slots[i & (map->capacity - 1)];
        if (slot->state == SLOT_EMPTY)
            return reusable ? reusable : slot;
        if (slot->state == SLOT_REMOVED && !reusable)
            reusable = slot;
        if (slot->state == SLOT_USED && slot->key == key)
            return slot;
    }
}

static bool rehash(struct map *map, size_t capacity)
{
    struct map grown = {.slots = calloc(capacity, sizeof(*grown.slots)), .capacity = capacity};
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].state == SLOT_USED)
            *probe(&grown, map->slots[i].key) = map->slots[i];
    grown.count = map->count;
    free(map->slots);
    *map = grown;
    return true;
}

static bool make_room(struct map *map)
{
    if ((map->count + map->removed + 1) * 4 <= map->capacity * 3)
        return true;
    size_t capacity = map->capacity ? map->capacity : 4;
    while ((map->count + 1) * 2 > capacity)
        capacity *= 2;
    return rehash(map, capacity);
}

uint64_t *map_get(const struct map *map, uint64_t key)
{
    if (map->count == 0)
        return NULL;
    struct map_slot *slot = probe(map, key);
    return slot->state == SLOT_USED ? &slot->value : NULL;
}

uint64_t *map_put(struct map *map, uint64_t key, bool *is_new)
{
    if (!make_room(map))
        return NULL;
    struct map_slot *slot = probe(map, key);
    bool fresh = slot->state != SLOT_USED;
    if (is_new)
        *is_new = fresh;
    if (fresh) {
        if (slot->state == SLOT_REMOVED)
            map->removed--;
        *slot = (struct map_slot){.key = key, .state = SLOT_USED};
        map->count++;
    }
    return &slot->value;
}

bool map_remove(struct map *map, uint64_t key)
{
    if (map->count == 0)
        return false;
    struct map_slot *slot = probe(map, key);
    if (slot->state != SLOT_USED)
        return false;
    slot->state = SLOT_REMOVED;
    map->count--;
    map->removed++;
    return true;
}

int map_each(const struct map *map, int (*each)(void *, uint64_t, uint64_t *), void *context)
{
    for (size_t i = 0; i < map->capacity; i++) {
        struct map_slot *slot = &map->slots[i];
        int result = slot->state == SLOT_USED ? each(context, slot->key, &slot->value) : 0;
        if (result)
            return result;
    }
    return 0;
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
