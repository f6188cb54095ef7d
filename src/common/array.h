/*
 * Growing arrays: a struct with `items`, `count` and `capacity`, declared in place.
 *
 *     ARRAY(struct point) points = {0};
 *     struct point *p = array_push(&points);   // zeroed; NULL: no memory
 *     array_release(&points);
 */
#ifndef GPUTRACE_COMMON_ARRAY_H
#define GPUTRACE_COMMON_ARRAY_H

#include <stdlib.h>
#include <string.h>

#define ARRAY(type)             \
    struct {                    \
        type *items;            \
        size_t count, capacity; \
    }

#define array_push(array)                                                                                        \
    ((__typeof__((array)->items))array_push_bytes((void **)&(array)->items, &(array)->count, &(array)->capacity, \
                                                  sizeof(*(array)->items)))
/* The item INDEX; if there are not as many yet, it and all before it are made, zeroed. NULL: no memory. */
#define array_at(array, index)                                                                                 \
    ((__typeof__((array)->items))array_at_bytes((void **)&(array)->items, &(array)->count, &(array)->capacity, \
                                                sizeof(*(array)->items), index))
/* No more memory than the items there are need, as a run may have many arrays. */
#define array_fit(array) \
    array_fit_bytes((void **)&(array)->items, (array)->count, &(array)->capacity, sizeof(*(array)->items))
#define array_release(array) \
    (free((array)->items), (void)((array)->items = NULL, (array)->count = (array)->capacity = 0))

static inline void *array_push_bytes(void **items, size_t *count, size_t *capacity, size_t size)
{
    if (*count == *capacity) {
        size_t wanted = *capacity ? *capacity * 2 : 4;
        void *grown = realloc(*items, wanted * size);
        if (!grown)
            return NULL;
        *items = grown;
        *capacity = wanted;
    }
    return memset((char *)*items + size * (*count)++, 0, size);
}

static inline void *array_at_bytes(void **items, size_t *count, size_t *capacity, size_t size, size_t index)
{
    while (*count <= index)
        if (!array_push_bytes(items, count, capacity, size))
            return NULL;
    return (char *)*items + size * index;
}

static inline void array_fit_bytes(void **items, size_t count, size_t *capacity, size_t size)
{
    void *fitting = count > 0 && count < *capacity ? realloc(*items, count * size) : NULL;
    if (!fitting)
        return;
    *items = fitting;
    *capacity = count;
}

/* How many of COUNT items of SIZE bytes, which are in the order of COMPARE, come before WANTED. */
static inline size_t array_before(const void *items, size_t count, size_t size, const void *wanted,
                                  int (*compare)(const void *item, const void *wanted))
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare((const char *)items + middle * size, wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds a value to LIST; PUSH is array_push or file_vector_push. False: no memory. */
#define ADD(push, list, ...)                           \
    ({                                                 \
        __typeof__((list)->items) added_ = push(list); \
        if (added_)                                    \
            *added_ = (__VA_ARGS__);                   \
        added_ != NULL;                                \
    })

#endif
