/* Macros for lists of items: finding and adding an item by a key, sorting, and searching in sorted items. */
#ifndef GPUTRACE_COMMON_LOOKUP_H
#define GPUTRACE_COMMON_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"

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

/* Compares two numbers for qsort(): the smaller comes first. Chains as ORDER(a->x, b->x) ?: ORDER(a->y, b->y). */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Defines the function NAME for qsort() and file_vector_sort(): two of TYPE are in the order of their first member of
 * these, at most five; where that is equal of the next one. */
#define ORDER_BY(name, type, ...)                                                                    \
    static int name(const void *left, const void *right)                                             \
    {                                                                                                \
        const type *a = left, *b = right;                                                            \
        ORDER_CHOICE(__VA_ARGS__, ORDER_5, ORDER_4, ORDER_3, ORDER_2, ORDER_1, unused)(__VA_ARGS__); \
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

/* How many of COUNT items come before the place that is sought: the expression BEFORE says it of item I. */
#define COUNT_BEFORE(count, i, before) COUNT_BEFORE_BETWEEN(0, count, i, before)

/* Returns that, too, if PLACE is what the last search found and the next place is near: the search goes away from PLACE
 * in growing steps. */
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

/* Items before LOW come before the place, and those from HIGH on do not. */
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
