#include "tool/model/projections.h"

#include <stdlib.h>

#include "base/log.h"

void projections_release(struct projections *projections)
{
    map_release(&projections->by_key);
    array_release(&projections->items);
}

static int widen(struct projections *projections, uint32_t range, uint32_t track, uint64_t start, uint64_t end)
{
    uint64_t *index = map_put(&projections->by_key, (uint64_t)range << 32 | track, NULL);
    if (!index)
        return error_no_memory("NVTX ranges on the GPU");
    if (*index != 0) {
        struct projection *known = &projections->items.items[*index - 1];
        known->start = start < known->start ? start : known->start;
        known->end = end > known->end ? end : known->end;
        return 0;
    }
    struct projection *projection = array_push(&projections->items);
    if (!projection)
        return error_no_memory("NVTX ranges on the GPU");
    *projection = (struct projection){.range = range, .track = track, .start = start, .end = end};
    *index = projections->items.count;
    return 0;
}

int projections_see(struct projections *projections, const struct nvtx *nvtx, uint32_t thread, uint64_t called,
                    uint32_t track, uint64_t start, uint64_t end)
{
    const struct nvtx_track *ranges = nvtx_first_track(nvtx, thread);
    for (; ranges; ranges = nvtx_next_track(nvtx, ranges)) {
        uint32_t innermost = nvtx_innermost(nvtx, ranges, called);
        if (innermost != 0 && widen(projections, innermost - 1, track, start, end) != 0)
            return -1;
    }
    return 0;
}

/* Earlier ranges first where times are equal: what encloses was pushed before. */
static int outer_first(const void *a, const void *b)
{
    const struct projection *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    return left->range < right->range ? -1 : left->range > right->range;
}

int projections_finish(struct projections *projections, const struct nvtx *nvtx)
{
    size_t direct = projections->items.count;
    for (size_t i = 0; i < direct; i++) {
        struct projection inner = projections->items.items[i];
        uint32_t outer = nvtx->ranges.items[inner.range].parent;
        for (; outer != 0; outer = nvtx->ranges.items[outer - 1].parent)
            if (widen(projections, outer - 1, inner.track, inner.start, inner.end) != 0)
                return -1;
    }
    map_release(&projections->by_key);
    if (projections->items.count > 1)
        qsort(projections->items.items, projections->items.count, sizeof(*projections->items.items), outer_first);
    return 0;
}
