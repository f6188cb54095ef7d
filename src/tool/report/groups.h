/*
 * Numbers for keys of several parts: the groups of a section's rows. A key is a struct of 64-bit fields without holes.
 */
#ifndef GPUTRACE_TOOL_REPORT_GROUPS_H
#define GPUTRACE_TOOL_REPORT_GROUPS_H

#include "base/map.h"

#define GROUPS_RECENT 256

struct groups {
    struct interner keys;           /* the keys' bytes */
    uint32_t recent[GROUPS_RECENT]; /* numbers + 1 of keys that were asked for, by a quick hash; 0: none */
};

/* The number of KEY, counted from 0 as they come; INTERN_NO_MEMORY. */
uint32_t groups_number(struct groups *groups, const void *key, size_t size);

/* The item of ARRAY for the group of KEY, made (zeroed) when it is new. NULL: no memory. */
#define groups_item(groups, key, array)                                                                   \
    ((__typeof__((array)->items))groups_item_bytes(groups, key, sizeof(*(key)), (void **)&(array)->items, \
                                                   &(array)->count, &(array)->capacity, sizeof(*(array)->items)))
void *groups_item_bytes(struct groups *groups, const void *key, size_t key_size, void **items, size_t *count,
                        size_t *capacity, size_t item_size);

/* The key of group NUMBER. */
static inline const void *groups_key(const struct groups *groups, size_t number)
{
    return interned(&groups->keys, (uint32_t)number);
}

static inline void groups_release(struct groups *groups)
{
    interner_release(&groups->keys);
}

#endif
