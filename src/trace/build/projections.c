#include "trace/build/projections.h"

#include "common/log.h"

static int no_memory(void)
{
    return error_no_memory("NVTX ranges on the GPU");
}

#define EVICT_ITEMS ((size_t)1 << 16) /* are walked over before they are given back */

void projections_init(struct projections *projections, const char *directory)
{
    *projections = (struct projections){.directory = directory};
    projections->items.memory.directory = projections->of_two.memory.directory = directory;
    extents_init(&projections->extents, directory);
}

void projections_evict(const struct projections *projections)
{
    file_vector_evict(&projections->items);
    file_vector_evict(&projections->of_two);
    extents_evict(&projections->extents);
    for (size_t i = 0; i < projections->pieces.count; i++)
        file_vector_evict(&projections->pieces.items[i].starts);
}

static void release_pieces(struct projections *projections)
{
    for (size_t i = 0; i < projections->pieces.count; i++)
        file_vector_release(&projections->pieces.items[i].starts);
    array_release(&projections->pieces);
}

void projections_release(struct projections *projections)
{
    release_pieces(projections);
    map_release(&projections->threads);
    extents_release(&projections->extents);
    file_vector_release(&projections->of_two);
    file_vector_release(&projections->items);
}

/* --- where ranges begin and end --- */

static struct projection_pieces *pieces_of(struct projections *projections, uint32_t thread)
{
    uint64_t *index = map_put(&projections->threads, thread, NULL);
    if (!index || (*index == 0 && !array_push(&projections->pieces)))
        return NULL;
    if (*index == 0) {
        *index = projections->pieces.count;
        projections->pieces.items[*index - 1].starts.memory.directory = projections->directory;
    }
    return &projections->pieces.items[*index - 1];
}

static int cut(struct projection_pieces *pieces, uint64_t time)
{
    uint64_t *start = file_vector_push(&pieces->starts);
    if (!start)
        return -1;
    *start = time;
    return 0;
}

static int add_started(struct projections *projections, uint32_t thread, const struct nvtx_range *range,
                       uint32_t number)
{
    struct projection_pieces *pieces = pieces_of(projections, thread);
    if (!pieces || cut(pieces, range->start) != 0 || cut(pieces, range->end + 1) != 0)
        return -1;
    return extents_span(&projections->extents, thread, (int64_t)range->start, (int64_t)range->end, number);
}

static int add_all_started(struct projections *projections, const struct nvtx *nvtx)
{
    for (size_t i = 0; i < nvtx->started.count; i++) {
        const struct nvtx_range *range = &nvtx->started.items[i];
        uint32_t number = (uint32_t)(nvtx->ranges.count + i);
        if (add_started(projections, range->thread, range, number) != 0 ||
            (range->end_thread != range->thread && add_started(projections, range->end_thread, range, number) != 0))
            return -1;
        if (i % EVICT_ITEMS == 0) {
            projections_evict(projections);
            nvtx_evict(nvtx);
        }
    }
    return 0;
}

/* The pushed ranges of one track that are open where the walk over them is, outermost first. */
struct pushed {
    struct projections *projections;
    struct projection_pieces *pieces;
    ARRAY(struct pushed_range {
        uint32_t range;
        size_t span; /* index in extents.spans */
        uint64_t end;
    })
    open;
};

/* Ends the innermost, before NEXT, where the next range begins that is not in it. */
static int pop(struct pushed *pushed, uint64_t next)
{
    struct pushed_range popped = pushed->open.items[--pushed->open.count];
    uint64_t end = popped.end < next ? popped.end + 1 : next;
    if (pushed->open.count > 0) {
        struct pushed_range *outer = &pushed->open.items[pushed->open.count - 1];
        outer->end = popped.end > outer->end ? popped.end : outer->end;
    }
    pushed->projections->extents.spans.items[popped.span].last = (int64_t)end - 1;
    return cut(pushed->pieces, end);
}

static int push(struct pushed *pushed, const struct nvtx_range *range, uint32_t number)
{
    while (pushed->open.count > 0 && pushed->open.items[pushed->open.count - 1].range + 1 != range->parent)
        if (pop(pushed, range->start) != 0)
            return -1;
    struct extents *extents = &pushed->projections->extents;
    struct pushed_range *open = array_push(&pushed->open);
    if (!open || extents_span(extents, range->thread, (int64_t)range->start, (int64_t)range->end, number) != 0)
        return -1;
    *open = (struct pushed_range){.range = number, .span = extents->spans.count - 1, .end = range->end};
    return cut(pushed->pieces, range->start);
}

static int add_track(struct pushed *pushed, const struct nvtx *nvtx, const struct nvtx_track *track)
{
    pushed->pieces = pieces_of(pushed->projections, track->thread);
    if (!pushed->pieces)
        return -1;
    for (size_t i = 0; i < track->ranges.count; i++) {
        uint32_t number = track->ranges.items[i];
        if (push(pushed, &nvtx->ranges.items[number], number) != 0)
            return -1;
        if (i % EVICT_ITEMS == 0) {
            projections_evict(pushed->projections);
            nvtx_evict(nvtx);
        }
    }
    while (pushed->open.count > 0)
        if (pop(pushed, UINT64_MAX) != 0)
            return -1;
    return 0;
}

static int add_pushed(struct projections *projections, const struct nvtx *nvtx)
{
    struct pushed pushed = {.projections = projections};
    int result = 0;
    for (size_t i = 0; i < nvtx->tracks.count && result == 0; i++)
        result = add_track(&pushed, nvtx, &nvtx->tracks.items[i]);
    array_release(&pushed.open);
    return result;
}

static int by_time(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

int projections_begin(struct projections *projections, const struct nvtx *nvtx)
{
    if (add_pushed(projections, nvtx) != 0 || add_all_started(projections, nvtx) != 0)
        return no_memory();
    for (size_t i = 0; i < projections->pieces.count; i++)
        if (file_vector_sort(&projections->pieces.items[i].starts, by_time) != 0)
            return no_memory();
    return 0;
}

/* --- GPU work --- */

/* How many pieces start up to TIME: looked for from where the last search ended, since what asks comes nearly in
 * order. */
static size_t started_by(const uint64_t *starts, size_t count, size_t *place, uint64_t time)
{
    size_t low = *place < count ? *place : count, high = low, step = 1;
    for (; low > 0 && starts[low - 1] > time; step *= 2) {
        high = low - 1;
        low = low > step ? low - step : 0;
    }
    for (; high < count && starts[high] <= time; step *= 2) {
        low = high + 1;
        high = count - high > step ? high + step : count;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (starts[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return *place = low;
}

static uint32_t slot_of(uint32_t thread, uint32_t track)
{
    return ((thread * UINT32_C(0x9e3779b9) ^ track) * UINT32_C(0x85ebca6b) >> 16) % PROJECTIONS_RECENT;
}

static int find(struct projections_found *found, const struct extents_point *point)
{
    uint32_t *recent = &found->recent[slot_of(point->line, point->track)];
    struct extents_point *known = *recent ? &found->items.items[*recent - 1] : NULL;
    if (known && known->line == point->line && known->track == point->track && known->at == point->at) {
        extent_join(&known->extent, &point->extent);
        return 0;
    }
    struct extents_point *added = array_push(&found->items);
    if (!added)
        return no_memory();
    *added = *point;
    *recent = (uint32_t)found->items.count;
    return 0;
}

int projections_find(struct projections_found *found, const struct projections *projections, uint32_t thread,
                     uint64_t called, uint32_t track, uint64_t start, uint64_t end)
{
    const uint64_t *index = map_get(&projections->threads, thread);
    if (!index)
        return 0;
    const struct projection_pieces *pieces = &projections->pieces.items[*index - 1];
    size_t *place = &found->places[thread % PROJECTIONS_RECENT];
    size_t started = started_by(pieces->starts.items, pieces->starts.count, place, called);
    if (started == 0 || started == pieces->starts.count)
        return 0; /* before all ranges or after them */
    struct extents_point point = {.at = (int64_t)pieces->starts.items[started - 1],
                                  .line = thread,
                                  .track = track,
                                  .extent = {.start = (int64_t)start, .end = (int64_t)end}};
    return find(found, &point);
}

int projections_add(struct projections *projections, struct projections_found *found)
{
    int result = 0;
    for (size_t i = 0; i < found->items.count && result == 0; i++)
        result = extents_add(&projections->extents, &found->items.items[i]);
    found->items.count = 0;
    memset(found->recent, 0, sizeof(found->recent));
    return result == 0 ? 0 : no_memory();
}

void projections_found_release(struct projections_found *found)
{
    array_release(&found->items);
}

/* --- the items --- */

struct finish {
    struct projections *projections;
    const struct nvtx *nvtx;
    size_t made;
};

static int add_projection(void *context, uint32_t number, uint32_t track, const struct extent *extent)
{
    struct finish *finish = context;
    const struct nvtx_range *range = nvtx_range(finish->nvtx, number);
    struct projection *projection = range->end_thread == range->thread ? file_vector_push(&finish->projections->items)
                                                                       : file_vector_push(&finish->projections->of_two);
    if (!projection)
        return -1;
    *projection = (struct projection){
        .range = number, .track = track, .start = (uint64_t)extent->start, .end = (uint64_t)extent->end};
    if (++finish->made % EVICT_ITEMS == 0) {
        projections_evict(finish->projections);
        nvtx_evict(finish->nvtx);
    }
    return 0;
}

static int by_range(const void *a, const void *b)
{
    const struct projection *left = a, *right = b;
    if (left->range != right->range)
        return left->range < right->range ? -1 : 1;
    return (left->track > right->track) - (left->track < right->track);
}

/* Adds those of ranges that two threads have to the others, joined. */
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

/* Earlier ranges first where times are equal: what encloses was pushed before. */
static int outer_first(const void *a, const void *b)
{
    const struct projection *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    return by_range(a, b);
}

int projections_finish(struct projections *projections, const struct nvtx *nvtx)
{
    struct finish finish = {.projections = projections, .nvtx = nvtx};
    release_pieces(projections); /* nothing is found any more */
    if (extents_each(&projections->extents, add_projection, &finish) != 0)
        return no_memory();
    extents_release(&projections->extents);
    nvtx_evict(nvtx);
    if (join_two(projections) != 0)
        return no_memory();
    file_vector_release(&projections->of_two);
    return file_vector_sort(&projections->items, outer_first) == 0 ? 0 : no_memory();
}
