/*
 * The points are sorted by line and time and linked to the next of their track, with longer links (as in a skip list)
 * that hold the sum of the points between. One walk from the last point to the first then finds each interval's tracks.
 */
#include "common/extents.h"

#define REST_ITEMS ((size_t)1 << 16) /* items that are walked over before pages are given back */
#define CROWDED ((size_t)1 << 20)

void extents_init(struct extents *extents, const char *directory)
{
    *extents = (struct extents){.crowded = CROWDED};
    extents->points.memory.directory = extents->spans.memory.directory = extents->links.memory.directory = directory;
}

void extents_release(struct extents *extents)
{
    file_vector_release(&extents->points);
    file_vector_release(&extents->spans);
    file_vector_release(&extents->links);
    array_release(&extents->tracks);
}

void extents_evict(const struct extents *extents)
{
    file_vector_evict(&extents->points);
    file_vector_evict(&extents->spans);
    file_vector_evict(&extents->links);
}

ORDER_BY(compare_points, struct extents_point, line, at, track)
ORDER_BY(compare_spans, struct extents_span, line, first, what)

/* Sorts the points and joins those of one place and track. */
static int join_points(struct extents *extents)
{
    if (file_vector_sort(&extents->points, compare_points) != 0)
        return -1;
    struct extents_point *points = extents->points.items;
    size_t kept = 0;
    for (size_t i = 0; i < extents->points.count; i++) {
        if (kept > 0 && compare_points(&points[kept - 1], &points[i]) == 0)
            extent_join(&points[kept - 1].extent, &points[i].extent);
        else
            points[kept++] = points[i];
        if (i % REST_ITEMS == 0)
            file_vector_evict(&extents->points);
    }
    extents->points.count = kept;
    return kept < UINT32_MAX ? 0 : -1;
}

/* Points are joined so seldom that the cost for each point does not grow with their number. */
int extents_add(struct extents *extents, const struct extents_point *point)
{
    if (extents->points.count >= extents->crowded) {
        if (join_points(extents) != 0)
            return -1;
        extents->crowded = extents->points.count > CROWDED / 2 ? 2 * extents->points.count : CROWDED;
    }
    if (!ADD(file_vector_push, &extents->points, *point))
        return -1;
    if (extents->points.count % REST_ITEMS == 0)
        file_vector_evict(&extents->points);
    return 0;
}

int extents_span(struct extents *extents, uint32_t line, int64_t first, int64_t last, uint32_t what)
{
    const struct extents_span span = {.first = first, .last = last, .line = line, .what = what};
    if (!ADD(file_vector_push, &extents->spans, span))
        return -1;
    if (extents->spans.count % REST_ITEMS == 0)
        file_vector_evict(&extents->spans);
    return 0;
}

/* --- the walk --- */

/* Links a point to the next point of its track. If the next two jumps have equal lengths, the point's jump leads over
 * both, otherwise to the next point. So a search takes logarithmically many steps. */
static void link_point(struct extents *extents, size_t index, uint32_t next)
{
    struct extents_link *links = extents->links.items, *link = &links[index];
    *link = (struct extents_link){.passed = extents->points.items[index].extent, .next = next, .jump = next};
    if (next == 0)
        return;
    const struct extents_link *first = &links[next - 1];
    const struct extents_link *second = first->jump ? &links[first->jump - 1] : NULL;
    link->later = first->later + 1;
    if (second && second->jump && first->later - second->later == second->later - links[second->jump - 1].later) {
        extent_join(&link->passed, &first->passed);
        extent_join(&link->passed, &second->passed);
        link->jump = second->jump;
    }
}

static int come_to(struct extents *extents, size_t index)
{
    const struct extents_point *point = &extents->points.items[index];
    if (index + 1 < extents->points.count && point[1].line != point->line)
        while (extents->nearest) { /* another line: the list is emptied */
            struct extents_track *nearest = &extents->tracks.items[extents->nearest - 1];
            extents->nearest = nearest->after;
            *nearest = (struct extents_track){0};
        }
    while (extents->tracks.count <= point->track)
        if (!array_push(&extents->tracks))
            return -1;
    struct extents_track *track = &extents->tracks.items[point->track];
    link_point(extents, index, track->point);
    struct extents_track *tracks = extents->tracks.items;
    if (track->point && track->before) /* move the track to the front of the list */
        tracks[track->before - 1].after = track->after;
    else if (track->point)
        extents->nearest = track->after;
    if (track->point && track->after)
        tracks[track->after - 1].before = track->before;
    track->point = (uint32_t)index + 1;
    track->before = 0;
    track->after = extents->nearest;
    if (extents->nearest)
        tracks[extents->nearest - 1].before = point->track + 1;
    extents->nearest = point->track + 1;
    return 0;
}

/* Returns the sum of the points of a track from INDEX on up to the time LAST. */
static struct extent join_until(const struct extents *extents, size_t index, int64_t last)
{
    const struct extents_point *points = extents->points.items;
    const struct extents_link *links = extents->links.items;
    struct extent all = {.start = INT64_MAX, .end = INT64_MIN};
    for (;;) {
        const struct extents_link *link = &links[index];
        bool jumps = link->jump && points[link->jump - 1].at <= last;
        extent_join(&all, jumps ? &link->passed : &points[index].extent);
        uint32_t next = jumps ? link->jump : link->next;
        if (next == 0 || points[next - 1].at > last)
            return all;
        index = next - 1;
    }
}

static int each_track(const struct extents *extents, const struct extents_span *span,
                      int (*each)(void *context, uint32_t what, uint32_t track, const struct extent *extent),
                      void *context)
{
    int result = 0;
    for (uint32_t number = extents->nearest; number && result == 0;) {
        const struct extents_track *track = &extents->tracks.items[number - 1];
        const struct extents_point *point = &extents->points.items[track->point - 1];
        if (point->line != span->line || point->at > span->last)
            break;
        struct extent extent = join_until(extents, track->point - 1, span->last);
        result = each(context, span->what, number - 1, &extent);
        number = track->after;
    }
    return result;
}

static int make_ready(struct extents *extents)
{
    if (join_points(extents) != 0 || file_vector_sort(&extents->spans, compare_spans) != 0)
        return -1;
    for (size_t i = 0; i < extents->points.count; i++) {
        if (!file_vector_push(&extents->links))
            return -1;
        if (i % REST_ITEMS == 0)
            extents_evict(extents);
    }
    return 0;
}

int extents_each(struct extents *extents,
                 int (*each)(void *context, uint32_t what, uint32_t track, const struct extent *extent), void *context)
{
    int result = make_ready(extents);
    size_t point = extents->points.count;
    for (size_t i = extents->spans.count; i-- > 0 && result == 0;) {
        struct extents_span span = extents->spans.items[i];
        for (; point > 0 && result == 0; point--) {
            const struct extents_point *next = &extents->points.items[point - 1];
            if (next->line != span.line ? next->line < span.line : next->at < span.first)
                break;
            result = come_to(extents, point - 1);
            if (point % REST_ITEMS == 0)
                extents_evict(extents);
        }
        result = result ?: each_track(extents, &span, each, context);
        if (i % REST_ITEMS == 0)
            extents_evict(extents);
    }
    return result;
}
