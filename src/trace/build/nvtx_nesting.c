/*
 * Whether ranges and other slices of a thread nest.
 */
#include "common/log.h"
#include "trace/build/nvtx.h"

#define REST_RANGES ((size_t)1 << 18) /* are walked over before they are given back */

static uint64_t start_of(const struct nvtx *nvtx, const struct nvtx_track *track, size_t i)
{
    return nvtx->ranges.items[track->ranges.items[i]].start;
}

/* How many ranges of the track start up to TIME: looked for from where the last search ended, since what asks comes
 * nearly in order. */
static size_t started_by(const struct nvtx *nvtx, const struct nvtx_track *track, size_t place, uint64_t time)
{
    size_t count = track->ranges.count, low = place < count ? place : count, high = low, step = 1;
    for (; low > 0 && start_of(nvtx, track, low - 1) > time; step *= 2) {
        high = low - 1;
        low = low > step ? low - step : 0;
    }
    for (; high < count && start_of(nvtx, track, high) <= time; step *= 2) {
        low = high + 1;
        high = count - high > step ? high + step : count;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (start_of(nvtx, track, middle) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct nvtx_place *place_of(struct nvtx_places *places, uint32_t track)
{
    struct nvtx_place *place = &places->of_track[track % (sizeof(places->of_track) / sizeof(*places->of_track))];
    if (place->track != track)
        *place = (struct nvtx_place){.track = track};
    return place;
}

/* Index + 1 of the innermost range that has not ended by TIME, of those that start up to it. Those that had ended when
 * the last search came by are not looked at again: many may have ended since the last one started. */
static uint32_t innermost(const struct nvtx *nvtx, const struct nvtx_track *track, struct nvtx_place *place,
                          uint64_t time)
{
    size_t started = started_by(nvtx, track, place->started, time);
    if (started != place->started || time < place->ended) {
        place->started = started;
        place->open = started > 0 ? track->ranges.items[started - 1] + 1 : 0;
        place->ended = 0;
    }
    while (place->open != 0) {
        const struct nvtx_range *range = &nvtx->ranges.items[place->open - 1];
        if (range->end == 0 || range->end > time)
            break;
        place->ended = range->end > place->ended ? range->end : place->ended;
        place->open = range->parent;
    }
    return place->open;
}

static bool fits_track(const struct nvtx *nvtx, const struct nvtx_track *track, struct nvtx_place *place,
                       uint64_t start, uint64_t end)
{
    uint32_t open = innermost(nvtx, track, place, start);
    if (place->started < track->ranges.count && start_of(nvtx, track, place->started) < end)
        return false;
    return open == 0 || nvtx->ranges.items[open - 1].end == 0 || nvtx->ranges.items[open - 1].end >= end;
}

bool nvtx_fits(const struct nvtx *nvtx, struct nvtx_places *places, uint32_t thread, uint64_t start, uint64_t end)
{
    const struct nvtx_track *track = nvtx->ranges.count ? nvtx_first_track(nvtx, thread) : NULL;
    for (; track; track = nvtx_next_track(nvtx, track)) {
        uint32_t number = (uint32_t)(track - nvtx->tracks.items) + 1;
        if (!fits_track(nvtx, track, place_of(places, number), start, end))
            return false;
    }
    return true;
}

/* The ranges of one thread, of all domains, that are open where the walk is. */
struct nesting {
    uint64_t last; /* start of the last one */
    ARRAY(uint64_t) ends;
};

static int enter(struct nesting *nesting, const struct nvtx_range *range, bool *nests)
{
    while (nesting->ends.count > 0 && nesting->ends.items[nesting->ends.count - 1] <= range->start)
        nesting->ends.count--;
    *nests = range->start >= nesting->last &&
             (nesting->ends.count == 0 || nesting->ends.items[nesting->ends.count - 1] >= range->end);
    uint64_t *end = array_push(&nesting->ends);
    if (!end)
        return error_no_memory("NVTX ranges");
    *end = range->end;
    nesting->last = range->start;
    return 0;
}

int nvtx_check_nesting(const struct nvtx *nvtx, void (*unfit)(void *context, uint32_t thread), void *context)
{
    ARRAY(struct nesting) threads = {0};
    struct map by_thread = {0};
    int result = 0;
    for (size_t i = 0; i < nvtx->ranges.count && result == 0; i++) {
        const struct nvtx_range *range = &nvtx->ranges.items[i];
        uint64_t *index = map_put(&by_thread, range->thread, NULL);
        bool nests = true;
        if (!index || (*index == 0 && !array_push(&threads))) {
            result = error_no_memory("NVTX ranges");
            break;
        }
        if (*index == 0)
            *index = threads.count;
        result = enter(&threads.items[*index - 1], range, &nests);
        if (!nests)
            unfit(context, range->thread);
        if (i % REST_RANGES == 0)
            nvtx_rest(nvtx);
    }
    for (size_t i = 0; i < threads.count; i++)
        array_release(&threads.items[i].ends);
    array_release(&threads);
    map_release(&by_thread);
    return result;
}
