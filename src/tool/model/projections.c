#include "tool/model/projections.h"

#include "base/log.h"

static int no_memory(void)
{
    return error_no_memory("NVTX ranges on the GPU");
}

#define REST_ITEMS ((size_t)1 << 18)  /* are walked over before they are given back … */
#define REST_BYTES ((size_t)16 << 20) /* … or so much of what they refer to */

void projections_init(struct projections *projections, const char *directory)
{
    *projections = (struct projections){.directory = directory};
    projections->items.memory.directory = projections->of_range.memory.directory = directory;
}

void projections_rest(const struct projections *projections)
{
    big_array_rest(&projections->items);
    big_array_rest(&projections->of_range);
    for (size_t i = 0; i < projections->started.count; i++)
        big_array_rest(&projections->started.items[i].items);
}

void projections_release(struct projections *projections)
{
    for (size_t i = 0; i < projections->started.count; i++)
        intervals_release(&projections->started.items[i]);
    array_release(&projections->started);
    map_release(&projections->started_by_thread);
    big_array_release(&projections->of_range);
    big_array_release(&projections->items);
}

static int add_started(struct projections *projections, uint32_t thread, const struct nvtx_range *range,
                       uint32_t number)
{
    uint64_t *index = map_put(&projections->started_by_thread, thread, NULL);
    if (!index || (*index == 0 && !array_push(&projections->started)))
        return no_memory();
    bool is_new = *index == 0;
    if (is_new)
        *index = projections->started.count;
    struct intervals *started = &projections->started.items[*index - 1];
    if (is_new)
        started->items.memory.directory = projections->directory;
    return intervals_add(started, (int64_t)range->start, (int64_t)range->end, number) == 0 ? 0 : no_memory();
}

int projections_begin(struct projections *projections, const struct nvtx *nvtx)
{
    for (size_t i = 0; i < nvtx->started.count; i++) {
        const struct nvtx_range *range = &nvtx->started.items[i];
        uint32_t number = (uint32_t)(nvtx->ranges.count + i);
        if (add_started(projections, range->thread, range, number) != 0)
            return -1;
        if (range->end_thread != range->thread && add_started(projections, range->end_thread, range, number) != 0)
            return -1;
        if (i % REST_ITEMS == 0) {
            projections_rest(projections);
            nvtx_rest(nvtx);
        }
    }
    for (size_t i = 0; i < projections->started.count; i++)
        if (intervals_ready(&projections->started.items[i]) != 0)
            return no_memory();
    return 0;
}

/* Where the number of a range's first projection stands. */
static uint32_t *first_of(struct projections *projections, uint32_t range)
{
    while (projections->of_range.count <= range)
        if (!big_array_push(&projections->of_range))
            return NULL;
    return &projections->of_range.items[range];
}

static void stretch(struct projection *projection, uint64_t start, uint64_t end)
{
    projection->start = start < projection->start ? start : projection->start;
    projection->end = end > projection->end ? end : projection->end;
}

static int widen(struct projections *projections, uint32_t range, uint32_t track, uint64_t start, uint64_t end)
{
    uint32_t *first = first_of(projections, range);
    if (!first)
        return no_memory();
    for (uint32_t index = *first; index != 0; index = projections->items.items[index - 1].next) {
        struct projection *known = &projections->items.items[index - 1];
        if (known->track != track)
            continue;
        stretch(known, start, end);
        return 0;
    }
    struct projection *projection = big_array_push(&projections->items);
    if (!projection)
        return no_memory();
    *projection = (struct projection){.range = range, .track = track, .start = start, .end = end, .next = *first};
    *first = (uint32_t)projections->items.count;
    return 0;
}

#define FOUND_RECENT 4 /* works that follow one another lie in the same ranges, mostly */

static int find(struct projections_found *found, uint32_t range, uint32_t track, uint64_t start, uint64_t end)
{
    size_t count = found->items.count, first = count > FOUND_RECENT ? count - FOUND_RECENT : 0;
    for (size_t i = count; i > first; i--) {
        struct projection *known = &found->items.items[i - 1];
        if (known->range != range || known->track != track)
            continue;
        stretch(known, start, end);
        return 0;
    }
    struct projection *projection = array_push(&found->items);
    if (!projection)
        return no_memory();
    *projection = (struct projection){.range = range, .track = track, .start = start, .end = end};
    return 0;
}

struct work {
    struct projections_found *found;
    uint32_t track;
    uint64_t start, end;
};

static int find_started(void *context, uint32_t range)
{
    const struct work *work = context;
    return find(work->found, range, work->track, work->start, work->end);
}

int projections_find(struct projections_found *found, const struct projections *projections, const struct nvtx *nvtx,
                     uint32_t thread, uint64_t called, uint32_t track, uint64_t start, uint64_t end)
{
    const struct nvtx_track *ranges = nvtx_first_track(nvtx, thread);
    for (unsigned i = 0; ranges; ranges = nvtx_next_track(nvtx, ranges), i++) {
        uint32_t innermost = nvtx_innermost(nvtx, ranges, nvtx_place(&found->places, i), called);
        if (innermost != 0 && find(found, innermost - 1, track, start, end) != 0)
            return -1;
    }
    const uint64_t *index = map_get(&projections->started_by_thread, thread);
    if (!index)
        return 0;
    struct work work = {found, track, start, end};
    return intervals_each(&projections->started.items[*index - 1], (int64_t)called, find_started, &work);
}

int projections_add(struct projections *projections, struct projections_found *found)
{
    int result = 0;
    for (size_t i = 0; i < found->items.count && result == 0; i++) {
        const struct projection *item = &found->items.items[i];
        result = widen(projections, item->range, item->track, item->start, item->end);
    }
    found->items.count = 0;
    return result;
}

void projections_found_release(struct projections_found *found)
{
    array_release(&found->items);
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

/* About what comes into memory when one range is looked at after another. */
static size_t bytes_apart(uint32_t a, uint32_t b)
{
    size_t bytes = (size_t)(a > b ? a - b : b - a) * sizeof(struct nvtx_range);
    return bytes < MAPPED_AROUND ? bytes : MAPPED_AROUND;
}

int projections_finish(struct projections *projections, const struct nvtx *nvtx)
{
    size_t direct = projections->items.count, passed = 0;
    uint32_t last = 0;
    for (size_t i = 0; i < direct; i++) {
        struct projection inner = projections->items.items[i];
        uint32_t outer = nvtx_range(nvtx, inner.range)->parent; /* 0 of a started one */
        for (; outer != 0; outer = nvtx->ranges.items[outer - 1].parent)
            if (widen(projections, outer - 1, inner.track, inner.start, inner.end) != 0)
                return -1;
        passed += sizeof(inner) + bytes_apart(inner.range, last);
        last = inner.range;
        if (passed >= REST_BYTES) {
            projections_rest(projections);
            nvtx_rest(nvtx);
            passed = 0;
        }
    }
    big_array_release(&projections->of_range);
    return big_array_sort(&projections->items, outer_first) == 0 ? 0 : no_memory();
}
