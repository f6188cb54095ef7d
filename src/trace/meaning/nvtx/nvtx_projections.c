/*
 * NVTX ranges on the GPU. Collects the times at which ranges begin and end on each thread; between two of these, all
 * calls are in the same ranges. Then joins the extents of GPU operations by these pieces, and from the pieces by range.
 */
#include "trace/meaning/nvtx/nvtx_projections.h"

#include "common/log.h"
#include "trace/meaning/nvtx/nvtx.h"

#define EVICT_ITEMS ((size_t)1 << 16) /* pages are evicted after so many items */

/* --- where ranges begin and end --- */

static struct projection_pieces *pieces_of(struct nvtx *nvtx, uint32_t thread)
{
    struct projection_pieces *pieces = PUT_ITEM(&nvtx->projections.pieces, &nvtx->projections.threads, thread);
    if (pieces)
        pieces->starts.memory.directory = nvtx->directory;
    return pieces;
}

/* Begins a piece at TIME. */
static int cut(struct projection_pieces *pieces, uint64_t time)
{
    return ADD(file_vector_push, &pieces->starts, time) ? 0 : -1;
}

static int add_started(struct nvtx *nvtx, uint32_t thread, const struct nvtx_range *range, uint32_t number)
{
    struct projection_pieces *pieces = pieces_of(nvtx, thread);
    if (!pieces || cut(pieces, range->start) != 0 || cut(pieces, range->end + 1) != 0)
        return -1;
    return extents_span(&nvtx->projections.extents, thread, (int64_t)range->start, (int64_t)range->end, number);
}

static int add_all_started(struct nvtx *nvtx)
{
    for (size_t i = 0; i < nvtx->started.count; i++) {
        const struct nvtx_range *range = &nvtx->started.items[i];
        uint32_t number = (uint32_t)(nvtx->ranges.count + i);
        if (add_started(nvtx, range->thread, range, number) != 0 ||
            (range->end_thread != range->thread && add_started(nvtx, range->end_thread, range, number) != 0))
            return -1;
        if (i % EVICT_ITEMS == 0)
            nvtx_evict(nvtx);
    }
    return 0;
}

/* The pushed ranges of one track that are open at one point of the walk, outermost first. */
struct pushed {
    struct extents *extents;
    struct projection_pieces *pieces;
    size_t passed; /* ranges walked over so far, of all tracks */
    ARRAY(struct pushed_range {
        uint32_t range;
        size_t span; /* index in extents.spans */
        uint64_t end;
    })
    open;
};

/* Ends the innermost range, at the latest at NEXT, where a range begins that it does not enclose. */
static int pop(struct pushed *pushed, uint64_t next)
{
    struct pushed_range popped = pushed->open.items[--pushed->open.count];
    uint64_t end = popped.end < next ? popped.end + 1 : next;
    if (pushed->open.count > 0) {
        struct pushed_range *outer = &pushed->open.items[pushed->open.count - 1];
        outer->end = popped.end > outer->end ? popped.end : outer->end;
    }
    pushed->extents->spans.items[popped.span].last = (int64_t)end - 1;
    return cut(pushed->pieces, end);
}

static int push(struct pushed *pushed, const struct nvtx_range *range, uint32_t number)
{
    while (pushed->open.count > 0 && pushed->open.items[pushed->open.count - 1].range + 1 != range->parent)
        if (pop(pushed, range->start) != 0)
            return -1;
    struct pushed_range open = {.range = number, .span = pushed->extents->spans.count, .end = range->end};
    if (extents_span(pushed->extents, range->thread, (int64_t)range->start, (int64_t)range->end, number) != 0 ||
        !ADD(array_push, &pushed->open, open))
        return -1;
    return cut(pushed->pieces, range->start);
}

static int add_track(struct pushed *pushed, struct nvtx *nvtx, const struct nvtx_track *track)
{
    pushed->pieces = pieces_of(nvtx, track->thread);
    if (!pushed->pieces)
        return -1;
    for (size_t i = 0; i < track->ranges.count; i++) {
        uint32_t number = track->ranges.items[i];
        if (push(pushed, &nvtx->ranges.items[number], number) != 0)
            return -1;
        if (++pushed->passed % EVICT_ITEMS == 0)
            nvtx_evict(nvtx);
    }
    while (pushed->open.count > 0)
        if (pop(pushed, UINT64_MAX) != 0)
            return -1;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

int projections_begin(struct nvtx *nvtx)
{
    struct projections *projections = &nvtx->projections;
    struct pushed pushed = {.extents = &projections->extents};
    int result = 0;
    for (size_t i = 0; i < nvtx->tracks.count && result == 0; i++)
        if (nvtx->tracks.items[i].domain != NVTX_DOMAIN_OF_KIND(NVTX_OPERATOR))
            result = add_track(&pushed, nvtx, &nvtx->tracks.items[i]);
    array_release(&pushed.open);
    if (result != 0 || add_all_started(nvtx) != 0)
        return error_no_memory("NVTX ranges on the GPU");
    for (size_t i = 0; i < projections->pieces.count; i++)
        if (file_vector_sort(&projections->pieces.items[i].starts, by_time) != 0)
            return error_no_memory("NVTX ranges on the GPU");
    return 0;
}

/* --- GPU operations --- */

int projections_find(struct projections_found *found, const struct projections *projections, uint32_t thread,
                     uint64_t called, uint32_t track, uint64_t start, uint64_t end)
{
    const struct projection_pieces *pieces = FIND_ITEM(&projections->pieces, &projections->threads, thread);
    if (!pieces)
        return 0;
    size_t *place = &found->places[thread % PROJECTIONS_RECENT];
    size_t started = *place = COUNT_BEFORE_NEAR(*place, pieces->starts.count, i, pieces->starts.items[i] <= called);
    if (started == 0 || started == pieces->starts.count)
        return 0; /* the call is before or after all ranges */
    struct extents_point point = {.at = (int64_t)pieces->starts.items[started - 1],
                                  .line = thread,
                                  .track = track,
                                  .extent = {.start = (int64_t)start, .end = (int64_t)end}};
    uint32_t hash = (point.line * UINT32_C(0x9e3779b9) ^ point.track) * UINT32_C(0x85ebca6b) >> 16;
    uint32_t *recent = &found->recent[hash % PROJECTIONS_RECENT];
    struct extents_point *known = *recent ? &found->items.items[*recent - 1] : NULL;
    if (known && known->line == point.line && known->track == point.track && known->at == point.at) {
        extent_join(&known->extent, &point.extent);
        return 0;
    }
    if (!ADD(array_push, &found->items, point))
        return error_no_memory("NVTX ranges on the GPU");
    *recent = (uint32_t)found->items.count;
    return 0;
}

int projections_add(struct projections *projections, struct projections_found *found)
{
    int result = 0;
    for (size_t i = 0; i < found->items.count && result == 0; i++)
        result = extents_add(&projections->extents, &found->items.items[i]);
    found->items.count = 0;
    memset(found->recent, 0, sizeof(found->recent));
    return result == 0 ? 0 : error_no_memory("NVTX ranges on the GPU");
}

struct finish {
    struct nvtx *nvtx;
    size_t made;
};

static int add_projection(void *context, uint32_t number, uint32_t track, const struct extent *extent)
{
    struct finish *finish = context;
    const struct nvtx_range *range = nvtx_range(finish->nvtx, number);
    struct projection projection = {
        .range = number, .track = track, .start = (uint64_t)extent->start, .end = (uint64_t)extent->end};
    bool of_one = range->end_thread == range->thread;
    if (!(of_one ? ADD(file_vector_push, &finish->nvtx->projections.items, projection)
                 : ADD(file_vector_push, &finish->nvtx->projections.of_two, projection)))
        return -1;
    if (++finish->made % EVICT_ITEMS == 0)
        nvtx_evict(finish->nvtx);
    return 0;
}

ORDER_BY(by_range, struct projection, range, track)

/* Joins the two projections of each range that one thread started and another ended, and adds them to the items. */
static int join_two(struct projections *projections)
{
    if (file_vector_sort(&projections->of_two, by_range) != 0)
        return -1;
    struct projection *last = NULL;
    for (size_t i = 0; i < projections->of_two.count; i++) {
        const struct projection *one = &projections->of_two.items[i];
        if (last && by_range(last, one) == 0) {
            last->start = one->start < last->start ? one->start : last->start;
            last->end = one->end > last->end ? one->end : last->end;
            continue;
        }
        last = file_vector_push(&projections->items);
        if (!last)
            return -1;
        *last = *one;
    }
    return 0;
}

ORDER_OUTER_FIRST(outer_first, struct projection, range, track)

int projections_finish(struct nvtx *nvtx)
{
    struct projections *projections = &nvtx->projections;
    struct finish finish = {.nvtx = nvtx};
    for (size_t i = 0; i < projections->pieces.count; i++) /* projections_find() is not called any more */
        file_vector_release(&projections->pieces.items[i].starts);
    array_release(&projections->pieces);
    if (extents_each(&projections->extents, add_projection, &finish) != 0)
        return error_no_memory("NVTX ranges on the GPU");
    extents_release(&projections->extents);
    nvtx_evict(nvtx);
    if (join_two(projections) != 0)
        return error_no_memory("NVTX ranges on the GPU");
    file_vector_release(&projections->of_two);
    return file_vector_sort(&projections->items, outer_first) == 0 ? 0 : error_no_memory("NVTX ranges on the GPU");
}
