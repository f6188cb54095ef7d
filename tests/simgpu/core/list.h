/*
 * A list of pointers that grows. Holds no references: who puts something in says who owns it.
 * Zeroed memory is an empty list. Memory that runs out ends the process: a simulator has no better answer.
 */
#ifndef SIMGPU_CORE_LIST_H
#define SIMGPU_CORE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct list {
    void **items;
    size_t count, capacity;
};

static inline void list_add(struct list *list, void *item)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 8;
        list->items = realloc(list->items, list->capacity * sizeof(void *));
        if (!list->items)
            abort();
    }
    list->items[list->count++] = item;
}

static inline bool list_has(const struct list *list, const void *item)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == item)
            return true;
    return false;
}

static inline void list_add_once(struct list *list, void *item)
{
    if (!list_has(list, item))
        list_add(list, item);
}

/* Takes out the first ITEM, if it is there. Keeps the order. */
static inline void list_remove(struct list *list, const void *item)
{
    size_t kept = 0;
    bool found = false;
    for (size_t i = 0; i < list->count; i++) {
        if (!found && list->items[i] == item)
            found = true;
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

static inline void list_copy(struct list *to, const struct list *from)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++)
        list_add(to, from->items[i]);
}

static inline void list_release(struct list *list)
{
    free(list->items);
    *list = (struct list){0};
}

#endif
