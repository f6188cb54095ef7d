/*
 * Keeps the geometric mean of the shortest time that each operation took on a rank.
 */
#include "analysis/ranks/transfers.h"

#include <math.h>
#include <stdbool.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/base/cost_sum.h"
#include "analysis/comm/collective_words.h"
#include "analysis/ranks/comm.h"

void transfers_release(struct transfers *transfers)
{
    dense_map_release(&transfers->keys);
    array_release(&transfers->rows);
    array_release(&transfers->members);
}

/* Whether all ranks of the operation are known, each with a kernel of its own. */
static bool is_whole(const struct collective *operation, const uint32_t *index, size_t count, size_t ranks)
{
    bool pair = operation[0].source >= 0;
    bool whole = count > 1 && (pair ? count == 2 : operation[0].group_size == (int64_t)count);
    for (size_t i = 0; i < count && whole; i++)
        whole = index[i] < ranks && !operation[i].joint && operation[i].group_call == FIELD_ABSENT &&
                (pair || operation[i].kind == operation[0].kind);
    return whole;
}

/* The time of the rank that entered last, which is the shortest; 0 if it is not known. */
static int64_t transfer_of(const struct collective *operation, size_t count)
{
    int64_t least = INT64_MAX, start, duration;
    for (size_t i = 0; i < count; i++) {
        if (!comm_times(&operation[i], &start, &duration))
            return 0;
        least = duration < least ? duration : least;
    }
    return least;
}

int transfers_add(struct transfers *transfers, const struct collective *operation, const uint32_t *index, size_t count,
                  size_t ranks)
{
    int64_t transfer = is_whole(operation, index, count, ranks) ? transfer_of(operation, count) : 0,
            exposed = FIELD_ABSENT;
    const struct collective *one = &operation[0];
    bool pair = one->source >= 0;
    struct transfer_key key = {.communicator = one->communicator,
                               .group_ranks = one->group_ranks,
                               .pair = pair ? (uint64_t)(uint32_t)one->source << 32 | (uint32_t)one->target : 0,
                               .kind = pair ? COLLECTIVE_SEND : one->kind,
                               .bytes = one->bytes,
                               .group_size = (int64_t)count};
    for (size_t i = 1; i < count; i++)
        key.bytes = operation[i].bytes > key.bytes ? operation[i].bytes : key.bytes;
    size_t before = transfers->rows.count;
    if (transfer <= 0 || key.bytes <= 0)
        return 0;
    struct transfer_row *row = dense_map_item(&transfers->keys, &key, &transfers->rows);
    if (!row)
        return -1;
    if (transfers->rows.count > before) {
        row->first_member = transfers->members.count;
        for (size_t i = 0; i < count; i++)
            if (!ADD(array_push, &transfers->members, index[i]))
                return -1;
        row->member_count = count;
    }
    row->count++;
    row->log_sum += log((double)transfer);
    for (size_t i = 0; i < count; i++)
        exposed = operation[i].exposed > exposed ? operation[i].exposed : exposed;
    sum_add(&row->exposed, exposed == FIELD_ABSENT ? 0 : exposed);
    row->unexposed_count += exposed == FIELD_ABSENT;
    return 0;
}

double transfer_time(const struct transfer_row *row)
{
    return exp(row->log_sum / (double)row->count);
}
