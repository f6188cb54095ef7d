#include "analysis/ranks/neighbours.h"

#include <stdbool.h>

#include "analysis/model/collective_words.h"
#include "analysis/ranks/comm.h"

void neighbours_release(struct neighbours *neighbours)
{
    dense_map_release(&neighbours->keys);
    array_release(&neighbours->rows);
}

int neighbours_add(struct neighbours *neighbours, const struct collective *operation, const uint32_t *index,
                   size_t count, size_t ranks)
{
    int64_t start, duration;
    if (count != 2 || operation[0].source < 0 || index[0] >= ranks || index[1] >= ranks || index[0] == index[1] ||
        operation[0].kind == operation[1].kind)
        return 0;
    unsigned sender = operation[0].kind == COLLECTIVE_SEND ? 0 : 1;
    const struct neighbour_key key = {index[sender], index[!sender]};
    if (operation[sender].kind != COLLECTIVE_SEND || !comm_times(&operation[sender], &start, &duration))
        return 0;
    struct neighbour_row *row = dense_map_item(&neighbours->keys, &key, &neighbours->rows);
    if (!row)
        return -1;
    row->first = row->count == 0 || start < row->first ? start : row->first;
    row->count++;
    row->alone += operation[0].group_call == EVENT_NONE && operation[1].group_call == EVENT_NONE;
    return 0;
}

const struct neighbour_row *neighbours_find(const struct neighbours *neighbours, uint32_t from, uint32_t to)
{
    const struct neighbour_key key = {from, to};
    const uint64_t *words = (const uint64_t *)&key;
    uint32_t number =
        dense_map_find(&neighbours->keys, words, (struct dense_layout){2, 2, false}, dense_map_hash(words, 2));
    return number == DENSE_MAP_NONE ? NULL : &neighbours->rows.items[number];
}
