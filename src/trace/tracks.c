/*
 * Lanes: the slices of a track are sorted, and each gets the first lane with space, which a tree over the lanes finds.
 * Tracks: they are found by kind, device, context and number, and get tids when all are known.
 */
#include "trace/tracks.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"

#define EVICT_SPANS ((size_t)1 << 18) /* spans that are walked before their memory is released */

void lanes_init(struct lanes *lanes, enum lanes_rule rule)
{
    *lanes = (struct lanes){.rule = rule, .count = 1, .others_start = UINT64_MAX};
}

void lanes_release(struct lanes *lanes)
{
    file_vector_release(&lanes->spans);
}

static void remember(struct lanes *lanes, uint64_t start, uint64_t end)
{
    if (lanes->recent_count == LANES_RECENT) {
        if (lanes->forgotten_end == 0)
            lanes->first = lanes->recent[0];
        lanes->forgotten_end = lanes->recent[0].end;
        memmove(lanes->recent, lanes->recent + 1, sizeof(lanes->recent) - sizeof(lanes->recent[0]));
        lanes->recent_count--;
    }
    lanes->recent[lanes->recent_count++] = (struct lanes_recent){start, end};
}

static uint64_t last_end(const struct lanes *lanes)
{
    return lanes->recent_count ? lanes->recent[lanes->recent_count - 1].end : lanes->forgotten_end;
}

/* Records the start of a slice that is not, or no longer, the first top-level one. */
static void see_other(struct lanes *lanes, uint64_t start)
{
    lanes->others_start = start < lanes->others_start ? start : lanes->others_start;
}

void lanes_see(struct lanes *lanes, uint64_t start, uint64_t end)
{
    if (lanes->collecting)
        return;
    if (end < last_end(lanes)) {
        lanes->collecting = true;
        return;
    }
    while (lanes->rule == LANES_NEST && lanes->recent_count && lanes->recent[lanes->recent_count - 1].start >= start)
        see_other(lanes, lanes->recent[--lanes->recent_count].start);
    if (start < last_end(lanes)) {
        lanes->collecting = true;
        return;
    }
    if (lanes->recent_count > 0 || lanes->forgotten_end > 0)
        see_other(lanes, start);
    remember(lanes, start, end);
}

/* If no other slice of MORE starts before LANES ends, only MORE's first top-level slice can overlap slices of LANES. */
void lanes_append(struct lanes *lanes, const struct lanes *more)
{
    if (more->collecting || more->others_start < last_end(lanes))
        lanes->collecting = true;
    if (lanes->collecting || more->recent_count == 0)
        return;
    const struct lanes_recent *first = more->forgotten_end ? &more->first : &more->recent[0];
    lanes_see(lanes, first->start, first->end);
    for (unsigned i = 1; i < more->recent_count && !more->forgotten_end; i++)
        remember(lanes, more->recent[i].start, more->recent[i].end);
    if (!more->forgotten_end)
        return;
    memcpy(lanes->recent, more->recent, sizeof(lanes->recent));
    lanes->recent_count = more->recent_count;
    lanes->forgotten_end = more->forgotten_end;
}

int lanes_collect(struct lanes *lanes, uint64_t start, uint64_t end)
{
    return lanes_collect_own(lanes, start, end, 0);
}

int lanes_collect_own(struct lanes *lanes, uint64_t start, uint64_t end, uint32_t owner)
{
    if (!lanes->collecting)
        return 0;
    struct lanes_span *span = file_vector_push(&lanes->spans);
    if (!span)
        return error_no_memory("the order of rows");
    span->start = start;
    span->end = end;
    span->owner = owner;
    return 0;
}

/* Orders enclosing slices before those that they enclose. */
static int outer_first(const void *a, const void *b)
{
    const struct lanes_span *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    return left->owner < right->owner ? -1 : left->owner > right->owner;
}

/* The open slices of each lane during the walk over the sorted slices, outermost first, and a tree over the lanes that
 * finds the first lane with space in logarithmic time. Its leaves are the ends of the lanes' innermost slices; an inner
 * node has the least and the greatest end below it. */
struct open_lanes {
    ARRAY(struct open_lane {
        ARRAY(uint64_t) ends;
        uint32_t owner; /* of the open slices */
    })
    lanes;
    struct lane_ends {
        uint64_t least; /* 0 for an empty lane, UINT64_MAX for a lane that does not exist */
        uint64_t most;  /* 0 unless slices may nest */
    } *tree;            /* the root is node 1; the children of node n are 2n and 2n + 1 */
    size_t leaves;
};

static void join_ends(struct lane_ends *tree, size_t node)
{
    const struct lane_ends *left = &tree[2 * node], *right = left + 1;
    tree[node].least = left->least < right->least ? left->least : right->least;
    tree[node].most = left->most > right->most ? left->most : right->most;
}

static int add_leaves(struct open_lanes *open)
{
    size_t leaves = open->leaves ? 2 * open->leaves : 1;
    struct lane_ends *tree = malloc(2 * leaves * sizeof(*tree));
    if (!tree)
        return -1;
    for (size_t i = 0; i < leaves; i++)
        tree[leaves + i] = i < open->leaves ? open->tree[open->leaves + i] : (struct lane_ends){.least = UINT64_MAX};
    for (size_t node = leaves; node-- > 1;)
        join_ends(tree, node);
    free(open->tree);
    open->tree = tree;
    open->leaves = leaves;
    return 0;
}

static void update_leaf(struct open_lanes *open, enum lanes_rule rule, size_t lane)
{
    const struct open_lane *one = &open->lanes.items[lane];
    uint64_t end = one->ends.count ? one->ends.items[one->ends.count - 1] : 0;
    size_t node = open->leaves + lane;
    open->tree[node] = (struct lane_ends){.least = end, .most = rule == LANES_NEST ? end : 0};
    while ((node /= 2) > 0)
        join_ends(open->tree, node);
}

/* Drops the slices that end before SPAN. Returns whether the lane is then empty. */
static bool is_empty(struct open_lane *lane, const struct lanes_span *span)
{
    while (lane->ends.count && lane->ends.items[lane->ends.count - 1] <= span->start)
        lane->ends.count--;
    return lane->ends.count == 0;
}

/* Whether the innermost open slice of the lane contains SPAN. */
static bool encloses(struct open_lane *lane, const struct lanes_span *span)
{
    return !is_empty(lane, span) && lane->owner == span->owner && lane->ends.items[lane->ends.count - 1] >= span->end;
}

/* Returns the first lane whose innermost slice ends by START, or not before END. Returns the number of lanes if there
 * is none. */
static size_t find_ends(const struct open_lanes *open, uint64_t start, uint64_t end)
{
    size_t node = 1;
    if (open->leaves == 0 || (open->tree[node].least > start && open->tree[node].most < end))
        return open->lanes.count;
    while (node < open->leaves) {
        node *= 2;
        node += open->tree[node].least > start && open->tree[node].most < end;
    }
    return node - open->leaves;
}

/* Returns the first lane with space for SPAN, or the number of lanes. LANES_OWN keeps SPAN with an enclosing slice of
 * its owner. */
static size_t find_lane(struct open_lanes *open, enum lanes_rule rule, const struct lanes_span *span)
{
    for (size_t i = 0; rule == LANES_OWN && i < open->lanes.count; i++)
        if (encloses(&open->lanes.items[i], span))
            return i;
    for (;;) {
        size_t i = find_ends(open, span->start, rule == LANES_NEST ? span->end : UINT64_MAX);
        if (i == open->lanes.count || is_empty(&open->lanes.items[i], span) ||
            (rule == LANES_NEST && encloses(&open->lanes.items[i], span)))
            return i;
        update_leaf(open, rule, i); /* the innermost slice has ended, but not all that enclose it */
    }
}

static int place(struct open_lanes *open, enum lanes_rule rule, struct lanes_span *span)
{
    size_t i = find_lane(open, rule, span);
    if (i == open->lanes.count && (!array_push(&open->lanes) || (i == open->leaves && add_leaves(open) != 0)))
        return -1;
    open->lanes.items[i].owner = span->owner;
    if (!ADD(array_push, &open->lanes.items[i].ends, span->end))
        return -1;
    update_leaf(open, rule, i);
    span->lane = (uint32_t)i & INT32_MAX;
    return 0;
}

int lanes_assign(struct lanes *lanes)
{
    if (lanes->spans.count == 0)
        return 0;
    if (file_vector_sort(&lanes->spans, outer_first) != 0)
        return error_no_memory("the order of rows");
    struct open_lanes open = {0};
    int result = 0;
    for (size_t i = 0; i < lanes->spans.count && result == 0; i++) {
        result = place(&open, lanes->rule, &lanes->spans.items[i]);
        if (i % EVICT_SPANS == 0)
            file_vector_evict(&lanes->spans);
    }
    if (open.lanes.count > 0)
        lanes->count = (uint32_t)open.lanes.count;
    for (size_t i = 0; i < open.lanes.count; i++)
        array_release(&open.lanes.items[i].ends);
    array_release(&open.lanes);
    free(open.tree);
    /* Drops the slices of the first lane: it is the default. */
    size_t kept = 0;
    for (size_t i = 0; i < lanes->spans.count && lanes->count > 1; i++) {
        if (lanes->spans.items[i].lane != 0)
            lanes->spans.items[kept++] = lanes->spans.items[i];
        if (i % EVICT_SPANS == 0)
            file_vector_evict(&lanes->spans);
    }
    lanes->spans.count = kept;
    if (kept == 0)
        file_vector_release(&lanes->spans);
    return result == 0 ? 0 : error_no_memory("the order of rows");
}

uint32_t lanes_take(struct lanes *lanes, uint64_t start, uint64_t end, uint32_t owner)
{
    struct lanes_span wanted = {.start = start, .end = end, .owner = owner};
    size_t low = COUNT_BEFORE(lanes->spans.count, i, outer_first(&lanes->spans.items[i], &wanted) < 0);
    for (; low < lanes->spans.count && outer_first(&lanes->spans.items[low], &wanted) == 0; low++) {
        struct lanes_span *span = &lanes->spans.items[low];
        if (lanes->rule != LANES_FOLLOW)
            return span->lane; /* equal slices nest, so one lane has them all */
        if (!span->taken) {
            span->taken = 1;
            return span->lane;
        }
    }
    return 0;
}

/* --- tracks --- */

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

/* Greater numbers than CUDA's (8,191 devices, 65,535 contexts) occur only in damaged files; their rows may then mix. */
static uint64_t key_of(enum track_kind kind, uint32_t device, uint32_t context, uint32_t number)
{
    return (uint64_t)kind << 61 | (uint64_t)(device & 0x1fff) << 48 | (uint64_t)(context & 0xffff) << 32 | number;
}

struct track *tracks_get(const struct tracks *tracks, enum track_kind kind, uint32_t device, uint32_t context,
                         uint32_t number)
{
    const uint64_t *index = map_get(&tracks->by_key, key_of(kind, device, context, number));
    struct track *track = index && *index ? tracks->items.items[*index - 1] : NULL;
    return track && track->stands_in ? track->stands_in : track;
}

struct track *tracks_look(struct tracks *tracks, struct tracks_recent *recent, enum track_kind kind, uint32_t device,
                          uint32_t context, uint32_t number)
{
    struct track **kept = &recent->of_kind[kind], *track = *kept;
    if (recent->tracks == tracks && track && track->kind == kind && track->number == number &&
        track->device == device && track->context == context)
        return track;
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

static int number_lane(struct rows *rows, const struct track *track, uint32_t lane, uint32_t *tid)
{
    /* The number that users know the row by, or 0 if it has none. */
    bool numbered = lane == 0 && (track->kind == TRACK_THREAD || track->kind == TRACK_STREAM);
    uint32_t wanted = numbered && track->number < TRACKS_EXTRA_TID ? track->number : 0;
    bool is_new = false;
    if (wanted != 0 && !map_put(&rows->taken_tids, (uint64_t)track->pid << 32 | wanted, &is_new))
        return error_no_memory("rows");
    /* Images of a process, before and after exec(), follow one another and share its threads' rows. */
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

int tracks_number(struct tracks *tracks, struct rows *rows)
{
    for (size_t i = 0; i < tracks->items.count; i++)
        if (!tracks->items.items[i]->stands_in && number_track(tracks->items.items[i], rows) != 0)
            return -1;
    for (size_t i = 0; i < tracks->items.count; i++) {
        struct track *ranges = tracks->items.items[i];
        if (ranges->kind != TRACK_ANNOTATION)
            continue;
        /* If the stream's operations do not overlap, its annotations enclose them on the stream's own row. */
        struct track *stream = tracks_get(tracks, TRACK_STREAM, ranges->device, ranges->context, ranges->number);
        ranges->joined = stream && stream->lanes.count == 1 && !ranges->apart;
        if (ranges->joined)
            ranges->tids[0] = stream->tids[0];
    }
    return 0;
}
