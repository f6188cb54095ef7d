/*
 * Pairs pushes with pops and starts with ends, for each thread and domain, and finds the innermost range around a
 * time.
 */
#include "trace/meaning/nvtx/nvtx.h"

#include "common/log.h"
#include "common/spool_records.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/nvtx/nvtx_clocks.h"
#include "trace/meaning/nvtx/nvtx_counters.h"
#include "trace/meaning/nvtx/nvtx_memory.h"
#include "trace/meaning/nvtx/nvtx_names.h"
#include "trace/meaning/nvtx/nvtx_syncs.h"

#define FITS_TRACKS 64u                /* tracks of a thread that are checked for each slice */
#define EVICT_RANGES ((size_t)1 << 18) /* pages are evicted after so many ranges */

#define FILE_VECTORS(X)     \
    X(ranges)               \
    X(started)              \
    X(recorded_events)      \
    X(syncs.steps)          \
    X(syncs.waits)          \
    X(syncs.holds)          \
    X(copies.items)         \
    X(clocks.syncs)         \
    X(counters.samplings)   \
    X(counters.samples)     \
    X(deferred.submissions) \
    X(deferred.events)      \
    X(heaps.steps)          \
    X(projections.items)    \
    X(started_spans.items)  \
    X(started_spans.latest) \
    X(projections.of_two)
#define ARRAYS(X)         \
    X(tracks)             \
    X(ends)               \
    X(texts)              \
    X(resources.items)    \
    X(schemas.items)      \
    X(schemas.entries)    \
    X(schemas.semantics)  \
    X(scopes.items)       \
    X(clocks.domains)     \
    X(clocks.pairs)       \
    X(counters.items)     \
    X(counters.semantics) \
    X(deferred.rows)      \
    X(heaps.items)        \
    X(heaps.regions)      \
    X(projections.pieces)
#define MAPS(X)            \
    X(open_started)        \
    X(early_ends)          \
    X(tracks_by_key)       \
    X(tracks_by_thread)    \
    X(domains)             \
    X(strings)             \
    X(categories)          \
    X(event_names)         \
    X(resources.by_number) \
    X(syncs.waiting)       \
    X(syncs.held)          \
    X(schemas.by_id)       \
    X(scopes.by_id)        \
    X(counters.by_id)      \
    X(deferred.row_of)     \
    X(heaps.heap_of)       \
    X(heaps.region_of)     \
    X(projections.threads)

void nvtx_init(struct nvtx *nvtx, const char *directory)
{
    *nvtx = (struct nvtx){.directory = directory, .clocks.directory = directory};
#define SET_DIRECTORY(vector) nvtx->vector.memory.directory = directory;
    FILE_VECTORS(SET_DIRECTORY)
    extents_init(&nvtx->projections.extents, directory);
}

void nvtx_evict(const struct nvtx *nvtx)
{
#define EVICT(vector) file_vector_evict(&nvtx->vector);
    FILE_VECTORS(EVICT)
    for (size_t i = 0; i < nvtx->tracks.count; i++)
        EVICT(tracks.items[i].ranges)
    for (size_t i = 0; i < nvtx->clocks.pairs.count; i++)
        EVICT(clocks.pairs.items[i].points)
    for (size_t i = 0; i < nvtx->projections.pieces.count; i++)
        EVICT(projections.pieces.items[i].starts)
    extents_evict(&nvtx->projections.extents);
}

void nvtx_release(struct nvtx *nvtx)
{
#define RELEASE_VECTOR(vector) file_vector_release(&nvtx->vector);
#define RELEASE_ARRAY(array) array_release(&nvtx->array);
#define RELEASE_MAP(map) map_release(&nvtx->map);
    for (size_t i = 0; i < nvtx->tracks.count; i++)
        RELEASE_VECTOR(tracks.items[i].ranges)
    for (size_t i = 0; i < nvtx->clocks.pairs.count; i++)
        RELEASE_VECTOR(clocks.pairs.items[i].points)
    for (size_t i = 0; i < nvtx->projections.pieces.count; i++)
        RELEASE_VECTOR(projections.pieces.items[i].starts)
    extents_release(&nvtx->projections.extents);
    for (size_t i = 0; i < nvtx->heaps.items.count; i++)
        RELEASE_ARRAY(heaps.items.items[i].members)
    for (size_t i = 0; i < nvtx->schemas.items.count; i++) {
        free(nvtx->schemas.items.items[i].entries);
        free(nvtx->schemas.items.items[i].words);
    }
    FILE_VECTORS(RELEASE_VECTOR)
    ARRAYS(RELEASE_ARRAY)
    MAPS(RELEASE_MAP)
}

/* Returns the track of THREAD and DOMAIN, creating it if it is new. Returns NULL after error(). */
static struct nvtx_track *track_of(struct nvtx *nvtx, uint32_t thread, uint32_t domain)
{
    uint64_t *index = map_put(&nvtx->tracks_by_key, (uint64_t)thread << 32 | domain, NULL);
    if (index && *index)
        return &nvtx->tracks.items[*index - 1];
    uint64_t *first = index ? map_put(&nvtx->tracks_by_thread, thread, NULL) : NULL;
    struct nvtx_track *track = first ? array_push(&nvtx->tracks) : NULL;
    if (!track) {
        error_no_memory("NVTX ranges");
        return NULL;
    }
    track->thread = thread;
    track->domain = domain;
    track->ranges.memory.directory = nvtx->directory;
    track->next = (uint32_t)*first;
    *first = *index = nvtx->tracks.count;
    return track;
}

struct nvtx_track *nvtx_track_at(struct nvtx *nvtx, const struct capture_intervals *capture_intervals,
                                 const struct event *event, uint32_t domain)
{
    struct nvtx_track *track = track_of(nvtx, event->thread, domain);
    /* Ranges of a capture interval that was over before the event ended with the interval. */
    while (track && capture_intervals->limited && track->innermost != 0) {
        struct nvtx_range *range = &nvtx->ranges.items[track->innermost - 1];
        uint64_t interval_end = capture_intervals_end(capture_intervals, range->start);
        if (interval_end >= event->start)
            break;
        range->end = interval_end;
        range->open_at_end = true;
        track->innermost = range->parent;
    }
    return track;
}

int nvtx_push(struct nvtx *nvtx, struct nvtx_track *track, const struct event *event, enum nvtx_range_kind kind)
{
    struct nvtx_range range = {.record = event->record,
                               .start = event->start,
                               .thread = event->thread,
                               .end_thread = event->thread,
                               .parent = track->innermost,
                               .kind = kind};
    uint32_t number = (uint32_t)nvtx->ranges.count;
    track->innermost = number + 1;
    return ADD(file_vector_push, &nvtx->ranges, range) && ADD(file_vector_push, &track->ranges, number)
               ? 0
               : error_no_memory("NVTX ranges");
}

static uint64_t not_before(uint64_t time, uint64_t start)
{
    return time < start ? start : time;
}

/* Returns the record of an end if it has payloads, else NULL. */
static const void *end_record(const struct event *event)
{
    return event->nvtx.payload_type == SPOOL_NVTX_PAYLOAD_PIECES ? event->record : NULL;
}

static int pop(struct nvtx *nvtx, const struct capture_intervals *capture_intervals, const struct event *event)
{
    struct nvtx_track *track = nvtx_track_at(nvtx, capture_intervals, event, event->nvtx.domain);
    if (!track)
        return -1;
    if (track->innermost == 0) {
        nvtx->unmatched += !capture_intervals->limited; /* limited: the push may have come while recording was off */
        return 0;
    }
    struct nvtx_range *range = &nvtx->ranges.items[track->innermost - 1];
    range->end = not_before(event->start, range->start);
    range->end_record = end_record(event);
    track->innermost = range->parent;
    return 0;
}

/* The end may have been read before: each thread writes in chunks of its own. */
static int start(struct nvtx *nvtx, const struct event *event)
{
    struct nvtx_range *range = file_vector_push(&nvtx->started);
    if (!range)
        return error_no_memory("NVTX ranges");
    *range = (struct nvtx_range){.record = event->record, .start = event->start, .thread = event->thread};
    const uint64_t *early = map_get(&nvtx->early_ends, event->nvtx.range);
    if (early) {
        struct nvtx_end *found = &nvtx->ends.items[*early - 1];
        range->end = not_before(found->time, range->start);
        range->end_thread = found->thread;
        range->end_record = found->record;
        found->next = nvtx->free_ends;
        nvtx->free_ends = (uint32_t)*early;
        map_remove(&nvtx->early_ends, event->nvtx.range);
        return 0;
    }
    return map_set(&nvtx->open_started, event->nvtx.range, nvtx->started.count) ? 0 : error_no_memory("NVTX ranges");
}

static int end_early(struct nvtx *nvtx, const struct event *event)
{
    uint64_t *index = map_put(&nvtx->early_ends, event->nvtx.range, NULL);
    if (!index)
        return error_no_memory("NVTX ranges");
    if (*index != 0)
        nvtx->unmatched++;
    else if ((*index = nvtx->free_ends) != 0)
        nvtx->free_ends = nvtx->ends.items[*index - 1].next;
    else if (array_push(&nvtx->ends))
        *index = nvtx->ends.count;
    else
        return error_no_memory("NVTX ranges");
    nvtx->ends.items[*index - 1] =
        (struct nvtx_end){.time = event->start, .thread = event->thread, .record = end_record(event)};
    return 0;
}

static int end(struct nvtx *nvtx, const struct event *event)
{
    const uint64_t *index = map_get(&nvtx->open_started, event->nvtx.range);
    if (!index)
        return end_early(nvtx, event);
    struct nvtx_range *range = &nvtx->started.items[*index - 1];
    range->end = not_before(event->start, range->start);
    range->end_thread = event->thread;
    range->end_record = end_record(event);
    map_remove(&nvtx->open_started, event->nvtx.range);
    return 0;
}

int nvtx_index(struct nvtx *nvtx, const struct capture_intervals *capture_intervals, const struct event *event)
{
    struct nvtx_track *track;
    if (event->type != EVENT_NVTX)
        return nvtx_index_name(nvtx, event);
    switch (event->nvtx.what) {
    case SPOOL_NVTX_PUSH:
        track = nvtx_track_at(nvtx, capture_intervals, event, event->nvtx.domain);
        return track ? nvtx_push(nvtx, track, event, NVTX_RANGE) : -1;
    case SPOOL_NVTX_POP: return pop(nvtx, capture_intervals, event);
    case SPOOL_NVTX_START: return start(nvtx, event);
    case SPOOL_NVTX_END: return end(nvtx, event);
    case SPOOL_NVTX_MARK: nvtx->marks++; return 0;
    case SPOOL_NVTX_ACQUIRE:
    case SPOOL_NVTX_ACQUIRED:
    case SPOOL_NVTX_ACQUIRE_FAILED:
    case SPOOL_NVTX_RELEASE: return nvtx_syncs_index(&nvtx->syncs, event);
    default: nvtx->unmatched++; return 0;
    }
}

int index_nvtx_extension(struct process *process, const struct event *event)
{
    struct nvtx *nvtx = process->nvtx;
    const struct spool_record *record = event->record;
    bool has_row = record->type == SPOOL_RECORD_NVTX_MEMORY || record->type == SPOOL_RECORD_NVTX_DEFERRED;
    bool kept = true;
    process->nvtx_seen = process->nvtx_wanted = true;
    if (!process_knows_time(process, event->start)) {
        process->losses.undecoded++;
        return 0;
    }
    if (has_row && !process_thread(process, TRACK_THREAD, event->thread))
        return -1;
    switch (record->type) {
    case SPOOL_RECORD_NVTX_SCHEMA: return payload_schemas_index(&nvtx->schemas, event);
    case SPOOL_RECORD_NVTX_PIECE: return payload_copies_index(&nvtx->copies, event);
    case SPOOL_RECORD_NVTX_SCOPE: return nvtx_index_scope(&nvtx->scopes, event->record);
    case SPOOL_RECORD_NVTX_COUNTER: return nvtx_counters_index(&nvtx->counters, event);
    case SPOOL_RECORD_NVTX_MEMORY:
        widen_process_time(process, event->start, event->start);
        return nvtx_heaps_index(&nvtx->heaps, event);
    case SPOOL_RECORD_NVTX_ENTRY: kept = ADD(array_push, &nvtx->schemas.entries, event->record); break;
    case SPOOL_RECORD_NVTX_SEMANTICS:
        if (record->flags == 0)
            kept = ADD(array_push, &nvtx->schemas.semantics, event->record);
        else if (record->flags == 1)
            kept = ADD(array_push, &nvtx->counters.semantics, event->record);
        break;
    case SPOOL_RECORD_NVTX_SAMPLE: kept = ADD(file_vector_push, &nvtx->counters.samplings, event->record); break;
    case SPOOL_RECORD_NVTX_TIME_DOMAIN:
        if (nvtx->clocks.domains.count < NVTX_CLOCKS_MAX)
            kept = ADD(array_push, &nvtx->clocks.domains, event->record);
        break;
    case SPOOL_RECORD_NVTX_SYNC: kept = ADD(file_vector_push, &nvtx->clocks.syncs, event->record); break;
    case SPOOL_RECORD_NVTX_DEFERRED:
        kept = ADD(file_vector_push, &nvtx->deferred.submissions,
                   (struct nvtx_submission){.record = event->record, .thread = event->thread});
        break;
    default: break;
    }
    return kept ? 0 : error_no_memory("NVTX extensions");
}

int index_nvtx_extensions_end(struct process *process)
{
    struct nvtx *nvtx = process->nvtx;
    process->losses.cut_texts += nvtx->copies.lost;
    return payload_schemas_close(&nvtx->schemas) | nvtx_clocks_close(&nvtx->clocks) |
           nvtx_counters_close(&nvtx->counters) | payload_copies_close(&nvtx->copies);
}

int nvtx_close(struct nvtx *nvtx, const struct capture_intervals *capture_intervals, uint64_t time)
{
    nvtx->unmatched += capture_intervals->limited ? 0 : map_count(&nvtx->early_ends);
    for (size_t i = 0; i < nvtx_range_count(nvtx); i++) {
        struct nvtx_range *range = (struct nvtx_range *)nvtx_range(nvtx, i);
        if (range->end == 0) {
            uint64_t interval_end = capture_intervals_end(capture_intervals, range->start);
            range->end = not_before(time < interval_end ? time : interval_end, range->start);
            range->end_thread = range->thread;
            range->open_at_end = true;
        }
        if (i % EVICT_RANGES == 0)
            nvtx_evict(nvtx);
    }
    if (nvtx_close_names(nvtx) != 0 || nvtx_syncs_match(&nvtx->syncs, capture_intervals, time) != 0)
        return -1;
    nvtx->unmatched += nvtx->syncs.unmatched;
    return 0;
}

const struct nvtx_track *nvtx_first_track(const struct nvtx *nvtx, uint32_t thread)
{
    return FIND_ITEM(&nvtx->tracks, &nvtx->tracks_by_thread, thread);
}

static uint64_t start_of(const struct nvtx *nvtx, const struct nvtx_track *track, size_t i)
{
    return nvtx->ranges.items[track->ranges.items[i]].start;
}

static struct nvtx_place *place_of(struct nvtx_places *places, uint32_t track)
{
    struct nvtx_place *place = &places->of_track[track % (sizeof(places->of_track) / sizeof(*places->of_track))];
    if (place->track != track)
        *place = (struct nvtx_place){.track = track};
    return place;
}

/* Returns index + 1 of the innermost range that is open at TIME. Starts at the range where the last search in PLACE
 * stopped: many ranges may have ended since the last one started, and these are skipped. */
static uint32_t innermost(const struct nvtx *nvtx, const struct nvtx_track *track, struct nvtx_place *place,
                          uint64_t time)
{
    size_t started = COUNT_BEFORE_NEAR(place->started, track->ranges.count, i, start_of(nvtx, track, i) <= time);
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

uint32_t nvtx_innermost(const struct nvtx *nvtx, struct nvtx_places *places, uint32_t thread, uint32_t domain,
                        uint64_t time)
{
    const struct nvtx_track *track = FIND_ITEM(&nvtx->tracks, &nvtx->tracks_by_key, (uint64_t)thread << 32 | domain);
    return track ? innermost(nvtx, track, place_of(places, (uint32_t)(track - nvtx->tracks.items) + 1), time) : 0;
}

bool nvtx_fits(const struct nvtx *nvtx, struct nvtx_places *places, uint32_t thread, uint64_t start, uint64_t end)
{
    const struct nvtx_track *track = nvtx->ranges.count ? nvtx_first_track(nvtx, thread) : NULL;
    unsigned looked_at = 0;
    for (; track && looked_at < FITS_TRACKS; looked_at++, track = nvtx_next_track(nvtx, track)) {
        uint32_t number = (uint32_t)(track - nvtx->tracks.items) + 1;
        struct nvtx_place *place = place_of(places, number);
        uint32_t open = innermost(nvtx, track, place, start);
        if (place->started < track->ranges.count && start_of(nvtx, track, place->started) < end)
            return false;
        if (open != 0 && nvtx->ranges.items[open - 1].end != 0 && nvtx->ranges.items[open - 1].end < end)
            return false;
    }
    return !track;
}

/* The ranges of one thread, of all domains, that are open at one point of the walk. */
struct nesting {
    uint64_t last; /* start of the last range */
    ARRAY(uint64_t) ends;
};

int nvtx_check_nesting(const struct nvtx *nvtx, void (*unfit)(void *context, uint32_t thread), void *context)
{
    ARRAY(struct nesting) threads = {0};
    struct map by_thread = {0};
    int result = 0;
    for (size_t i = 0; i < nvtx->ranges.count; i++) {
        const struct nvtx_range *range = &nvtx->ranges.items[i];
        struct nesting *nesting = PUT_ITEM(&threads, &by_thread, range->thread);
        while (nesting && nesting->ends.count > 0 && nesting->ends.items[nesting->ends.count - 1] <= range->start)
            nesting->ends.count--;
        uint64_t outer = nesting && nesting->ends.count > 0 ? nesting->ends.items[nesting->ends.count - 1] : UINT64_MAX;
        if (!nesting || !ADD(array_push, &nesting->ends, range->end)) {
            result = error_no_memory("NVTX ranges");
            break;
        }
        if (range->start < nesting->last || range->end > outer)
            unfit(context, range->thread);
        nesting->last = range->start;
        if (i % EVICT_RANGES == 0)
            nvtx_evict(nvtx);
    }
    for (size_t i = 0; i < threads.count; i++)
        array_release(&threads.items[i].ends);
    array_release(&threads);
    map_release(&by_thread);
    return result;
}
