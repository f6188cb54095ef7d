/*
 * Moves each marker in a stream to the end of the operation before it, because CUPTI's time of the marker itself may
 * be later.
 */
#include "trace/meaning/gpu/stream_markers.h"

#include "common/array.h"
#include "common/log.h"
#include "common/lookup.h"

#define EVICT_MARKERS ((size_t)1 << 17) /* are settled before pages are given back */

void stream_markers_release(struct stream_markers *markers)
{
    file_vector_release(&markers->items);
    markers->marked = 0;
}

int stream_markers_add(struct stream_markers *markers, const struct stream_marker *marker)
{
    return ADD(file_vector_push, &markers->items, *marker) ? 0 : error_no_memory("device ranges");
}

ORDER_BY(by_correlation, struct stream_marker, correlation)

int stream_markers_list(struct stream_markers *markers)
{
    return file_vector_sort(&markers->items, by_correlation) == 0 ? 0 : error_no_memory("device ranges");
}

/* The first of COUNT that is not before WANTED. */
static size_t first_from(struct stream_markers *markers, size_t count, const struct stream_marker *wanted,
                         int (*compare)(const void *, const void *))
{
    size_t first = array_before(markers->items.items, count, sizeof(*wanted), wanted, compare);
    file_vector_found(&markers->items, first);
    return first;
}

void stream_markers_mark(struct stream_markers *markers, const struct event *event)
{
    const struct stream_marker wanted = {.correlation = event->correlation};
    if (event->correlation == 0 || markers->items.count == 0)
        return;
    size_t index = first_from(markers, markers->items.count, &wanted, by_correlation);
    struct stream_marker *marker = &markers->items.items[index];
    if (index == markers->items.count || marker->correlation != event->correlation)
        return;
    marker->marked = marker->time = event->start;
    marker->device = event->device;
    marker->context = event->context;
    marker->stream = event->stream;
}

static int by_place(const struct stream_marker *left, const struct stream_marker *right)
{
    return ORDER(left->device, right->device) ?: ORDER(left->context, right->context) ?: ORDER(left->stream, right->stream);
}

static int by_place_and_time(const void *a, const void *b)
{
    const struct stream_marker *left = a, *right = b;
    return by_place(left, right) ?: ORDER(left->marked, right->marked) ?: ORDER(left->called, right->called);
}

/* Those without a time come last. */
static int marked_first(const void *a, const void *b)
{
    const struct stream_marker *left = a, *right = b;
    if (left->marked == 0 || right->marked == 0)
        return (left->marked == 0) - (right->marked == 0);
    return by_place_and_time(a, b);
}

int stream_markers_order(struct stream_markers *markers)
{
    if (file_vector_sort(&markers->items, marked_first) != 0)
        return error_no_memory("device ranges");
    for (markers->marked = markers->items.count; markers->marked > 0; markers->marked--)
        if (markers->items.items[markers->marked - 1].marked != 0)
            break;
    stream_markers_evict(markers);
    return 0;
}

/* The first in the work's stream at TIME or later; NULL: there is none. */
static struct stream_marker *first_in_stream(struct stream_markers *markers, const struct event *work, uint64_t time)
{
    const struct stream_marker wanted = {
        .marked = time, .device = work->device, .context = work->context, .stream = work->stream};
    size_t index = first_from(markers, markers->marked, &wanted, by_place_and_time);
    struct stream_marker *marker = &markers->items.items[index];
    return index < markers->marked && by_place(marker, &wanted) == 0 ? marker : NULL;
}

/* The first marker behind it learns of it; the later ones when they are settled. */
void stream_markers_find_work(struct stream_markers *markers, const struct event *work)
{
    struct stream_marker *marker = first_in_stream(markers, work, work->end);
    if (marker && marker->work_ended < work->end)
        marker->work_ended = work->end;
    marker = first_in_stream(markers, work, work->start + 1);
    if (marker && marker->work_started < work->start)
        marker->work_started = work->start;
}

/* Whether it comes soon after what is shown at TIME and was MARKED then. A marker that the program called for before
 * that was in the stream already: what passed since the mark is its own event's time. */
static bool comes_soon(const struct stream_marker *marker, uint64_t time, uint64_t marked)
{
    uint64_t since = marker->called <= time ? marked : time;
    return marker->marked - since <= STREAM_MARKER_SOON;
}

/* PREVIOUS: in the same stream, settled; NULL: there is none. */
static void settle(struct stream_marker *marker, const struct stream_marker *previous, bool all_work)
{
    bool worked = marker->work_ended != 0;
    if (previous && marker->work_started < previous->work_started)
        marker->work_started = previous->work_started;
    if (previous && marker->work_ended < previous->work_ended) {
        marker->work_ended = previous->work_ended;
        worked = false;
    }
    if (marker->work_started > marker->work_ended)
        return; /* the clocks of events and of work differ by some ns: it is within the work that started last */
    if (worked || (marker->work_ended != 0 && !all_work)) {
        if (comes_soon(marker, marker->work_ended, marker->work_ended))
            marker->time = marker->work_ended;
    } else if (previous && all_work && comes_soon(marker, previous->time, previous->marked)) {
        marker->time = previous->time;
    }
}

void stream_markers_settle(struct stream_markers *markers, bool all_work)
{
    const struct stream_marker *previous = NULL;
    for (size_t i = 0; i < markers->marked; i++) {
        struct stream_marker *marker = &markers->items.items[i];
        bool other_stream = previous && by_place(previous, marker) != 0;
        settle(marker, other_stream ? NULL : previous, all_work);
        if (markers->first == 0 || marker->time < markers->first)
            markers->first = marker->time;
        if (marker->time > markers->last)
            markers->last = marker->time;
        previous = marker;
        if (i % EVICT_MARKERS == 0)
            stream_markers_evict(markers);
    }
}
