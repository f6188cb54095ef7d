#include "analysis/critical/critical_ranges.h"

#include "analysis/model/ranges.h"
#include "analysis/model/trace.h"

/* A walk over the parts of one thread, by time. */
struct pieces {
    struct critical_path *path;
    struct range_walk ranges, operators;
    uint32_t thread;
    int64_t time, until; /* of the piece */
};

static void limit(struct pieces *pieces, int64_t time)
{
    if (time > pieces->time && time < pieces->until)
        pieces->until = time;
}

/* The name of the innermost range of WALK; EVENT_NO_TEXT: there is none. The piece ends where it changes. */
static uint32_t find_name(struct pieces *pieces, struct range_walk *walk)
{
    while (range_walk_open(walk, pieces->thread, pieces->time))
        ;
    if (walk->next && walk->next->thread == pieces->thread)
        limit(pieces, walk->next->start);
    const struct range_open *found = range_walk_innermost(walk, pieces->thread, pieces->time + 1);
    if (!found)
        return EVENT_NO_TEXT;
    limit(pieces, found->range.end);
    return found->range.name;
}

static int add_whole(struct critical_path *path, const struct critical_part *part)
{
    struct critical_part *added = file_vector_push(&path->outside);
    if (added)
        *added = *part;
    return added ? 0 : -1;
}

static int split(struct pieces *pieces, const struct critical_part *part)
{
    for (pieces->time = part->start; pieces->time < part->end; pieces->time = pieces->until) {
        pieces->until = part->end;
        uint32_t range = find_name(pieces, &pieces->ranges), operation = find_name(pieces, &pieces->operators);
        struct critical_part *piece = file_vector_push(&pieces->path->outside);
        if (!piece)
            return -1;
        *piece = *part;
        piece->start = pieces->time;
        piece->end = pieces->until;
        piece->name = operation != EVENT_NO_TEXT ? operation : range;
        if (pieces->path->outside.count % CRITICAL_EVICTED_AFTER == 0) {
            file_vector_evict(&pieces->path->outside);
            file_vector_evict(&pieces->path->parts);
        }
    }
    return 0;
}

/* The parts are there from the last to the first. */
static int split_thread(struct pieces *pieces)
{
    const struct critical_path *path = pieces->path;
    int status = 0;
    for (size_t i = path->parts.count; status == 0 && i-- > 0;) {
        const struct critical_part part = path->parts.items[i];
        if (part.kind == CRITICAL_OUTSIDE && part.thread == pieces->thread)
            status = split(pieces, &part);
    }
    return status;
}

int critical_ranges_find(struct critical_path *path, const struct trace *trace)
{
    struct pieces pieces = {.path = path};
    ARRAY(char) seen = {0}; /* by thread: the path leads through it */
    int status = 0;
    for (size_t i = 0; status == 0 && i < path->parts.count; i++) {
        const struct critical_part part = path->parts.items[i];
        if (i % CRITICAL_EVICTED_AFTER == 0)
            file_vector_evict(&path->parts);
        uint32_t thread = part.kind == CRITICAL_OUTSIDE ? part.thread : EVENT_NO_TEXT;
        if (part.kind == CRITICAL_OUTSIDE && thread == EVENT_NO_TEXT)
            status = add_whole(path, &part);
        while (status == 0 && thread != EVENT_NO_TEXT && seen.count <= thread)
            status = array_push(&seen) ? 0 : -1;
        if (status == 0 && thread != EVENT_NO_TEXT)
            seen.items[thread] = 1;
    }
    range_walk_begin(&pieces.ranges, &trace->ranges, false);
    range_walk_begin(&pieces.operators, &trace->operators, false);
    for (pieces.thread = 0; status == 0 && pieces.thread < seen.count; pieces.thread++)
        if (seen.items[pieces.thread])
            status = split_thread(&pieces);
    int ranges = range_walk_end(&pieces.ranges), operators = range_walk_end(&pieces.operators);
    array_release(&seen);
    return status ? status : ranges ? ranges : operators;
}
