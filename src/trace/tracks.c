#include "trace/tracks.h"

#include <stdlib.h>

#include "common/log.h"

void tracks_release(struct tracks *tracks)
{
    for (size_t i = 0; i < tracks->items.count; i++) {
        lanes_release(&tracks->items.items[i]->lanes);
        free(tracks->items.items[i]->tids);
        free(tracks->items.items[i]);
    }
    array_release(&tracks->items);
    map_release(&tracks->by_key);
}

void tracks_rest(const struct tracks *tracks)
{
    for (size_t i = 0; i < tracks->items.count; i++)
        file_vector_evict(&tracks->items.items[i]->lanes.spans);
}

void rows_release(struct rows *rows)
{
    map_release(&rows->taken_pids);
    map_release(&rows->taken_tids);
}

/* Numbers beyond what CUDA gives (8,191 devices, 65,535 contexts) come from damaged files alone; rows may then mix. */
static uint64_t key_of(enum track_kind kind, uint32_t device, uint32_t context, uint32_t number)
{
    return (uint64_t)kind << 61 | (uint64_t)(device & 0x1fff) << 48 | (uint64_t)(context & 0xffff) << 32 | number;
}

static bool is_track(const struct track *track, enum track_kind kind, uint32_t device, uint32_t context,
                     uint32_t number)
{
    return track && track->kind == kind && track->number == number && track->device == device &&
           track->context == context;
}

struct track *tracks_get(const struct tracks *tracks, enum track_kind kind, uint32_t device, uint32_t context,
                         uint32_t number)
{
    const uint64_t *index = map_get(&tracks->by_key, key_of(kind, device, context, number));
    return index && *index ? tracks->items.items[*index - 1] : NULL;
}

struct track *tracks_look(struct tracks *tracks, struct tracks_recent *recent, enum track_kind kind, uint32_t device,
                          uint32_t context, uint32_t number)
{
    struct track **kept = &recent->of_kind[kind];
    if (recent->tracks == tracks && is_track(*kept, kind, device, context, number))
        return *kept;
    if (recent->tracks != tracks)
        *recent = (struct tracks_recent){.tracks = tracks};
    return *kept = tracks_get(tracks, kind, device, context, number);
}

static enum lanes_rule rule_of(enum track_kind kind)
{
    switch (kind) {
    case TRACK_STREAM: return LANES_FOLLOW;
    case TRACK_COMPILATION:
    case TRACK_PLUGIN: return LANES_OWN;
    default: return LANES_NEST;
    }
}

static struct track *add_track(struct tracks *tracks, const struct track *made)
{
    struct track *track = malloc(sizeof(*track));
    struct track **item = track ? array_push(&tracks->items) : NULL;
    if (!item) {
        free(track);
        error_no_memory("rows");
        return NULL;
    }
    *track = *made;
    track->index = (uint32_t)tracks->items.count - 1;
    lanes_init(&track->lanes, rule_of(track->kind));
    track->lanes.spans.memory.directory = tracks->directory;
    if (track->kind != TRACK_STREAM && track->kind != TRACK_THREAD)
        lanes_must_collect(&track->lanes);
    return *item = track;
}

struct track *tracks_put(struct tracks *tracks, enum track_kind kind, uint32_t device, uint32_t context,
                         uint32_t number, bool *is_new)
{
    struct track *known = tracks_look(tracks, &tracks->recent, kind, device, context, number);
    if (is_new)
        *is_new = !known;
    if (known)
        return known;
    uint64_t *index = map_put(&tracks->by_key, key_of(kind, device, context, number), NULL);
    if (!index) {
        error_no_memory("rows");
        return NULL;
    }
    struct track *track =
        add_track(tracks, &(struct track){.kind = kind, .device = device, .context = context, .number = number});
    if (track)
        *index = tracks->items.count;
    return track;
}

int rows_take_pid(struct rows *rows, uint32_t pid)
{
    return map_put(&rows->taken_pids, pid, NULL) ? 0 : error_no_memory("rows");
}

int rows_gpu_pid(struct rows *rows, uint32_t process, uint32_t device, uint32_t *pid)
{
    *pid = device & 0x3ff;
    if (map_get(&rows->taken_pids, *pid))
        *pid = TRACKS_GPU_PID + ((process & 0xfffff) << 10) + (device & 0x3ff);
    return rows_take_pid(rows, *pid);
}

/* The number that users know the row by, or 0 when it has none. */
static uint32_t wanted_tid(const struct track *track, uint32_t lane)
{
    if (lane != 0 || (track->kind != TRACK_THREAD && track->kind != TRACK_STREAM))
        return 0;
    return track->number < TRACKS_EXTRA_TID ? track->number : 0;
}

static int number_lane(struct rows *rows, const struct track *track, uint32_t lane, uint32_t *tid)
{
    uint32_t wanted = wanted_tid(track, lane);
    bool is_new = false;
    if (wanted != 0 && !map_put(&rows->taken_tids, (uint64_t)track->pid << 32 | wanted, &is_new))
        return error_no_memory("rows");
    /* Images of one process follow one another in time and share its threads' rows. */
    bool shared = wanted != 0 && track->kind == TRACK_THREAD;
    *tid = is_new || shared ? wanted : TRACKS_EXTRA_TID + rows->next_extra++;
    return 0;
}

static int number_track(struct track *track, struct rows *rows)
{
    if (lanes_assign(&track->lanes) != 0)
        return -1;
    track->tids = calloc(track->lanes.count, sizeof(*track->tids));
    if (!track->tids)
        return error_no_memory("rows");
    for (uint32_t lane = 0; lane < track->lanes.count; lane++)
        if (number_lane(rows, track, lane, &track->tids[lane]) != 0)
            return -1;
    return 0;
}

/* Ranges on a stream's own row: they enclose its works, as long as these follow one another. */
static void join_stream(struct tracks *tracks, struct track *annotation)
{
    struct track *stream =
        tracks_get(tracks, TRACK_STREAM, annotation->device, annotation->context, annotation->number);
    annotation->joined = stream && stream->lanes.count == 1 && !annotation->apart;
    if (annotation->joined)
        annotation->tids[0] = stream->tids[0];
}

int tracks_number(struct tracks *tracks, struct rows *rows)
{
    for (size_t i = 0; i < tracks->items.count; i++)
        if (number_track(tracks->items.items[i], rows) != 0)
            return -1;
    for (size_t i = 0; i < tracks->items.count; i++)
        if (tracks->items.items[i]->kind == TRACK_ANNOTATION)
            join_stream(tracks, tracks->items.items[i]);
    return 0;
}
