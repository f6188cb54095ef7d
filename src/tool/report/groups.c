#include "tool/report/groups.h"

#include <string.h>

#include "base/array.h"

/* The place of KEY among the recent ones: a quick hash, which may be a bad one. */
static uint32_t *recent_of(struct groups *groups, const void *key, size_t size)
{
    uint64_t hash = 0, word;
    for (size_t at = 0; at + sizeof(word) <= size; at += sizeof(word)) {
        memcpy(&word, (const char *)key + at, sizeof(word));
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return &groups->recent[hash % GROUPS_RECENT];
}

uint32_t groups_number(struct groups *groups, const void *key, size_t size)
{
    uint32_t *recent = recent_of(groups, key, size);
    if (*recent) {
        const struct interned *known = &groups->keys.strings[*recent - 1];
        if (known->length == size && memcmp(known->text, key, size) == 0)
            return *recent - 1;
    }
    uint32_t number = intern(&groups->keys, key, size);
    *recent = number == INTERN_NO_MEMORY ? 0 : number + 1;
    return number;
}

void *groups_item_bytes(struct groups *groups, const void *key, size_t key_size, void **items, size_t *count,
                        size_t *capacity, size_t item_size)
{
    uint32_t number = groups_number(groups, key, key_size);
    if (number == INTERN_NO_MEMORY)
        return NULL;
    if (number < *count)
        return (char *)*items + number * item_size;
    return array_push_bytes(items, count, capacity, item_size);
}
