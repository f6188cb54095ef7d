/*
 * Regions of memory by address, none of which overlap: a treap, so that finding, adding and removing take the logarithm
 * of their number. A region belongs to one tree at a time; it is the caller's. One thread at a time.
 */
#ifndef GPUTRACE_PLUGINS_HAZARDS_REGIONS_H
#define GPUTRACE_PLUGINS_HAZARDS_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "hazards_place.h"
#include "hazards_shape.h"

/* Something that was done to memory of a region and may still be going on. */
struct use {
    uint32_t stream; /* its number in the order … */
    bool writes;
    uint64_t time; /* … and its time there */
    struct shape shape;
    struct place place;
};

struct region {
    uint64_t address, bytes;
    uint64_t allocated;       /* when the call that allocated it was over */
    struct CUctx_st *context; /* that allocated it */
    uint32_t device;
    uint32_t kind; /* enum gputrace_memory_kind */
    struct use *uses;
    uint32_t use_count, use_room;
    uint32_t overwritten; /* uses, for want of room */
    struct use freed; /* of one that was freed: by whom; its stream is ORDER_STREAMS_MAX where the host waited for it */
    struct region *left, *right, *older, *newer; /* the tree's, and of freed ones by age */
    uint32_t weight;
};

struct regions {
    struct region *root;
    uint64_t count;
    uint32_t random;
};

static inline uint64_t region_end(const struct region *region)
{
    return region->address + region->bytes;
}

/* The one with the lowest address of those that end behind ADDRESS; NULL: none. */
struct region *regions_from(const struct regions *regions, uint64_t address);

/* The one that holds ADDRESS, or NULL. */
struct region *regions_at(const struct regions *regions, uint64_t address);

void regions_add(struct regions *regions, struct region *region);
void regions_remove(struct regions *regions, struct region *region);

#endif
