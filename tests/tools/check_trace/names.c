#include "check_trace/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *need_memory(void *memory)
{
    if (!memory) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memory;
}

void *grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity ? *capacity * 2 : 64;
    return need_memory(realloc(items, *capacity * size));
}

void names_release(struct names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        free(names->items[i].bytes);
    free(names->items);
    free(names->slots);
}

static uint64_t hash_of(const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

/* The slot that holds the string, or the free one where it belongs. */
static uint32_t *slot_of(const struct names *names, const void *bytes, size_t length, uint64_t hash)
{
    for (uint32_t at = (uint32_t)hash;; at++) {
        uint32_t *slot = &names->slots[at & (names->slot_count - 1)];
        if (!*slot)
            return slot;
        const struct name *name = &names->items[*slot - 1];
        if (name->hash == hash && name->length == length && memcmp(name->bytes, bytes, length) == 0)
            return slot;
    }
}

static void make_slots(struct names *names)
{
    free(names->slots);
    names->slot_count = names->slot_count ? names->slot_count * 2 : 1024;
    names->slots = need_memory(calloc(names->slot_count, sizeof(*names->slots)));
    for (uint32_t i = 0; i < names->count; i++) {
        const struct name *name = &names->items[i];
        *slot_of(names, name->bytes, name->length, name->hash) = i + 1;
    }
}

uint32_t names_find(const struct names *names, const void *bytes, size_t length)
{
    return names->slot_count ? *slot_of(names, bytes, length, hash_of(bytes, length)) - 1 : NAMES_NONE;
}

uint32_t names_put(struct names *names, const void *bytes, size_t length)
{
    if (names->count * 2 >= names->slot_count)
        make_slots(names);
    uint64_t hash = hash_of(bytes, length);
    uint32_t *slot = slot_of(names, bytes, length, hash);
    if (*slot)
        return *slot - 1;
    size_t capacity = names->capacity;
    names->items = grow(names->items, names->count, &capacity, sizeof(*names->items));
    names->capacity = (uint32_t)capacity;
    struct name *name = &names->items[names->count];
    *name = (struct name){need_memory(malloc(length + 1)), length, hash};
    memcpy(name->bytes, bytes, length);
    name->bytes[length] = '\0';
    *slot = ++names->count;
    return names->count - 1;
}
