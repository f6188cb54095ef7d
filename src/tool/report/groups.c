#include "tool/report/groups.h"

#include "base/array.h"

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
