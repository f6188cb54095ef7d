/*
 * A set of 32-bit ids, such as correlation ids: a bit for each, in blocks for ids that are near each other. Ids of a
 * trace are dense, so a million take about 170 kB.
 */
#ifndef GPUTRACE_TRACE_ID_SET_H
#define GPUTRACE_TRACE_ID_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/map.h"

/* All zero is empty. */
struct id_set {
    struct map blocks; /* id / ID_SET_BLOCK -> struct id_block * */
};

void id_set_release(struct id_set *set);

/* Returns 0, or -1: no memory. */
int id_set_add(struct id_set *set, uint32_t id);
bool id_set_has(const struct id_set *set, uint32_t id);

#endif
