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

static inline void array_fit_bytes(void **items, size_t count, size_t *capacity, size_t size)
{
    void *fitting = count > 0 && count < *capacity ? realloc(*items, count * size) : NULL;
    if (!fitting)
        return;
    *items = fitting;
    *capacity = count;
}

#endif
