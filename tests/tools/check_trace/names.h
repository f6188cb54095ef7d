/*
 * Byte strings kept once each and numbered from 0: event names, rows, the keys of counts.
 */
#ifndef CHECK_TRACE_NAMES_H
#define CHECK_TRACE_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct names {
    struct name {
        char *bytes; /* with a NUL behind */
        size_t length;
        uint64_t hash;
    } *items;
    uint32_t *slots; /* number + 1, 0: free */
    uint32_t count, capacity, slot_count;
};

/* All zero is an empty set. */
void names_release(struct names *names);

#define NAMES_NONE UINT32_MAX
/* The number of the string, which is kept when it is new. */
uint32_t names_put(struct names *names, const void *bytes, size_t length);
uint32_t names_find(const struct names *names, const void *bytes, size_t length);

static inline const char *names_get(const struct names *names, uint32_t number)
{
    return names->items[number].bytes;
}

/* MEMORY; ends the program if it is NULL. */
void *need_memory(void *memory);

/* realloc() that ends the program when there is no memory. Grows ITEMS, of SIZE bytes each, when COUNT fills CAPACITY.
 */
void *grow(void *items, size_t count, size_t *capacity, size_t size);

#endif
