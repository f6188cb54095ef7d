/*
 * Growing arrays, and how their items and those of file vectors are added, sorted and searched. An array is a struct
 * with `items`, `count` and `capacity`, declared in place.
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
/* Returns item INDEX, and first extends a shorter array up to INDEX with zeroed items. Returns NULL without memory. */
#define array_at(array, index)                                                                                 \
    ((__typeof__((array)->items))array_at_bytes((void **)&(array)->items, &(array)->count, &(array)->capacity, \
                                                sizeof(*(array)->items), index))
/* Frees the memory beyond the last item, because a run may have many arrays. */
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

/* Adds a value to LIST with PUSH, which is array_push or file_vector_push. Returns false without memory. */
#define ADD(push, list, ...)                           \
    ({                                                 \
        __typeof__((list)->items) added_ = push(list); \
        if (added_)                                    \
            *added_ = (__VA_ARGS__);                   \
        added_ != NULL;                                \
    })

/* Compares two numbers for qsort(): the smaller comes first. Chains as ORDER(a->x, b->x) ?: ORDER(a->y, b->y). */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Defines the function NAME for qsort() and file_vector_sort(). It compares two TYPE by up to five members: by the
 * first one, if it is equal by the second one, and so on. */
#define ORDER_BY(name, type, ...)                                                                    \
    static int name(const void *left, const void *right)                                             \
    {                                                                                                \
        const type *a = left, *b = right;                                                            \
        ORDER_CHOICE(__VA_ARGS__, ORDER_5, ORDER_4, ORDER_3, ORDER_2, ORDER_1, unused)(__VA_ARGS__); \
    }
/* Defines the function NAME for qsort() and file_vector_sort(). It compares two TYPE by ORDER, an expression of the
 * pointers a and b. */
#define ORDER_WITH(name, type, order)                    \
    static int name(const void *left, const void *right) \
    {                                                    \
        const type *a = left, *b = right;                \
        return order;                                    \
    }
#define ORDER_CHOICE(member_1, member_2, member_3, member_4, member_5, order, ...) order
#define ORDER_FIRST(member)     \
    if (a->member != b->member) \
        return a->member < b->member ? -1 : 1;
#define ORDER_1(member) return ORDER(a->member, b->member)
#define ORDER_2(member, ...) ORDER_FIRST(member) ORDER_1(__VA_ARGS__)
#define ORDER_3(member, ...) ORDER_FIRST(member) ORDER_2(__VA_ARGS__)
#define ORDER_4(member, ...) ORDER_FIRST(member) ORDER_3(__VA_ARGS__)
#define ORDER_5(member, ...) ORDER_FIRST(member) ORDER_4(__VA_ARGS__)

/* Binary search: returns how many of COUNT sorted items come before a place. The expression BEFORE tells whether item I
 * comes before it. */
#define COUNT_BEFORE(count, i, before) COUNT_BEFORE_BETWEEN(0, count, i, before)

/* Returns the result of COUNT_BEFORE(), but is faster near PLACE, the result of the last search: it searches away from
 * PLACE in growing steps. */
#define COUNT_BEFORE_NEAR(place, count, i, before)                                                    \
    ({                                                                                                \
        size_t count_ = (count), from_ = (place) < count_ ? (place) : count_, to_ = from_, step_ = 1; \
        for (; from_ > 0; step_ *= 2) {                                                               \
            size_t i = from_ - 1;                                                                     \
            if (before)                                                                               \
                break;                                                                                \
            to_ = i;                                                                                  \
            from_ = from_ > step_ ? from_ - step_ : 0;                                                \
        }                                                                                             \
        for (; to_ < count_; step_ *= 2) {                                                            \
            size_t i = to_;                                                                           \
            if (!(before))                                                                            \
                break;                                                                                \
            from_ = i + 1;                                                                            \
            to_ = count_ - i > step_ ? i + step_ : count_;                                            \
        }                                                                                             \
        COUNT_BEFORE_BETWEEN(from_, to_, i, before);                                                  \
    })

/* Returns the result of COUNT_BEFORE() if the items before LOW come before the place and the items from HIGH on do
 * not. */
#define COUNT_BEFORE_BETWEEN(low, high, i, before) \
    ({                                             \
        size_t low_ = (low), high_ = (high);       \
        while (low_ < high_) {                     \
            size_t i = low_ + (high_ - low_) / 2;  \
            if (before)                            \
                low_ = i + 1;                      \
            else                                   \
                high_ = i;                         \
        }                                          \
        low_;                                      \
    })

#endif
