#include "analysis/critical/critical_path.h"

#include "common/lookup.h"
#include "analysis/engine/ranges.h"
#include "analysis/engine/trace.h"

const struct critical_kind_words critical_kind_words[CRITICAL_KIND_COUNT] = {
#define KIND(constant, word, text) {word, text},
    CRITICAL_KINDS(KIND)
#undef KIND
};

void critical_path_release(struct critical_path *path)
{
    file_vector_release(&path->parts);
    file_vector_release(&path->outside);
    for (size_t i = 0; i < path->rows.count; i++)
        series_release(&path->rows.items[i].slack);
    array_release(&path->rows);
    dense_map_release(&path->keys);
}

struct critical_row *critical_path_row(struct critical_path *path, enum critical_kind kind, uint32_t name)
{
    const struct critical_key key = {kind, name};
    return dense_map_item(&path->keys, &key, &path->rows);
}

int critical_path_add(struct critical_path *path, const struct critical_part *part)
{
    if (!ADD(file_vector_push, &path->parts, *part))
        return -1;
    if (path->parts.count % CRITICAL_EVICTED_AFTER == 0)
        file_vector_evict(&path->parts);
    return 0;
}

#define evict_at(array, index)                 \
    if ((index) % CRITICAL_EVICTED_AFTER == 0) \
    file_vector_evict(array)

int critical_path_each(const struct critical_path *path, int (*each)(void *context, const struct critical_part *part),
                       void *context)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < path->parts.count; i++) {
        evict_at(&path->parts, i);
        if (path->parts.items[i].kind != CRITICAL_OUTSIDE)
            status = each(context, &path->parts.items[i]);
    }
    for (size_t i = 0; status == 0 && i < path->outside.count; i++) {
        evict_at(&path->outside, i);
        status = each(context, &path->outside.items[i]);
    }
    return status;
}

/* --- what the host did outside of CUDA: the innermost operator or range --- */

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

static int split(struct pieces *pieces, const struct critical_part *part)
{
    for (pieces->time = part->start; pieces->time < part->end; pieces->time = pieces->until) {
        pieces->until = part->end;
        uint32_t range = find_name(pieces, &pieces->ranges), operation = find_name(pieces, &pieces->operators);
        const struct critical_part piece = {pieces->time, pieces->until, operation != EVENT_NO_TEXT ? operation : range,
                                            part->thread, part->kind};
        if (!ADD(file_vector_push, &pieces->path->outside, piece))
            return -1;
        if (pieces->path->outside.count % CRITICAL_EVICTED_AFTER == 0) {
            file_vector_evict(&pieces->path->outside);
            file_vector_evict(&pieces->path->parts);
        }
    }
    return 0;
}

ORDER_BY(by_thread, struct critical_part, thread, start, end)

int critical_path_divide(struct critical_path *path, const struct trace *trace)
{
    struct pieces pieces = {.path = path};
    struct sorter of_threads;
    struct sorter_walk walk;
    const struct critical_part *part;
    sorter_init(&of_threads, trace->space, sizeof(*part), by_thread);
    /* Parts of threads go to their own sorter. */
    int status = 0;
    for (size_t i = 0; status == 0 && i < path->parts.count; i++) {
        const struct critical_part one = path->parts.items[i];
        if (i % CRITICAL_EVICTED_AFTER == 0)
            file_vector_evict(&path->parts);
        if (one.kind == CRITICAL_OUTSIDE && one.thread != EVENT_NO_TEXT)
            status = sorter_add(&of_threads, &one);
        else if (one.kind == CRITICAL_OUTSIDE)
            status = ADD(file_vector_push, &path->outside, one) ? 0 : -1;
    }
    status = status ? status : sorter_ready(&of_threads);
    range_walk_begin(&pieces.ranges, &trace->ranges, false);
    range_walk_begin(&pieces.operators, &trace->operators, false);
    sorter_walk_begin(&walk, &of_threads);
    while (status == 0 && (part = sorter_next(&walk))) {
        pieces.thread = part->thread;
        status = split(&pieces, part);
    }
    int walked = sorter_walk_end(&walk);
    int ranges = range_walk_end(&pieces.ranges), operators = range_walk_end(&pieces.operators);
    sorter_release(&of_threads);
    return status ? status : walked ? walked : ranges ? ranges : operators;
}
