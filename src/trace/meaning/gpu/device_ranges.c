/*
 * Moves each marker in a stream to the end of the operation before it, because CUPTI's time of the marker itself may
 * be later; then joins the start and the end of each device range, and writes the ranges as slices of their streams.
 */
#include "trace/meaning/gpu/device_ranges.h"

#include "common/log.h"
#include "common/settings.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/launches/launches.h"

#define EVICT_MARKERS ((size_t)1 << 17) /* pages are evicted after settling so many markers */

ORDER_BY(by_correlation, struct stream_marker, correlation)

int stream_markers_list(struct stream_markers *markers)
{
    return file_vector_sort(&markers->items, by_correlation) == 0 ? 0 : error_no_memory("device ranges");
}

/* Returns the index of the first of COUNT markers that is not before WANTED. */
static size_t first_from(struct stream_markers *markers, size_t count, const struct stream_marker *wanted,
                         int (*compare)(const void *, const void *))
{
    size_t first = COUNT_BEFORE(count, i, compare(&markers->items.items[i], wanted) < 0);
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
    return ORDER(left->device, right->device) ?: ORDER(left->context, right->context)
           ?: ORDER(left->stream, right->stream);
}

static int by_place_and_time(const void *a, const void *b)
{
    const struct stream_marker *left = a, *right = b;
    return by_place(left, right) ?: ORDER(left->marked, right->marked) ?: ORDER(left->called, right->called);
}

/* Sorts markers without a time last. */
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

/* Returns the first marker in the work's stream at TIME or later, or NULL. */
static struct stream_marker *first_in_stream(struct stream_markers *markers, const struct event *work, uint64_t time)
{
    const struct stream_marker wanted = {
        .marked = time, .device = work->device, .context = work->context, .stream = work->stream};
    size_t index = first_from(markers, markers->marked, &wanted, by_place_and_time);
    struct stream_marker *marker = &markers->items.items[index];
    return index < markers->marked && by_place(marker, &wanted) == 0 ? marker : NULL;
}

/* Tells the first marker after the work; settle() passes it on to later ones. */
void stream_markers_find_work(struct stream_markers *markers, const struct event *work)
{
    struct stream_marker *marker = first_in_stream(markers, work, work->end);
    if (marker && marker->work_ended < work->end)
        marker->work_ended = work->end;
    marker = first_in_stream(markers, work, work->start + 1);
    if (marker && marker->work_started < work->start)
        marker->work_started = work->start;
}

/* Whether MARKER follows soon on something that is shown at TIME and was done at MARKED. If the program called for the
 * marker before TIME, it was in the stream already: what passed since MARKED is the marker's own time on the GPU. */
static bool comes_soon(const struct stream_marker *marker, uint64_t time, uint64_t marked)
{
    uint64_t since = marker->called <= time ? marked : time;
    return marker->marked - since <= STREAM_MARKER_SOON;
}

/* PREVIOUS is the settled marker before it in the stream, or NULL. */
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
        return; /* the marker is within the work that started last: its clock and the work's differ by some ns */
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

#define EVICT_RANGES ((size_t)1 << 17) /* pages are evicted after closing ranges with so many markers */

int device_ranges_index(struct device_ranges *ranges, const struct event *event)
{
    const struct stream_marker marker = {.record = event->record,
                                         .range = event->device_range.number,
                                         .thread = event->thread,
                                         .ends = event->device_range.ended,
                                         .correlation = event->correlation,
                                         .called = event->start};
    ranges->any = true;
    return ADD(file_vector_push, &ranges->markers.items, marker) ? 0 : error_no_memory("device ranges");
}

/* If a range started or ended twice, the first record counts. */
ORDER_BY(by_range, struct stream_marker, range, ends, called)

/* Makes a range of its markers, either of which may be NULL. Returns false if a time is missing. */
static bool make_range(struct device_range *range, const struct stream_marker *start, const struct stream_marker *end,
                       const struct capture_intervals *capture_intervals, uint64_t time)
{
    if (!start || start->time == 0 || (end && end->time == 0))
        return false;
    *range = (struct device_range){.record = start->record,
                                   .number = start->range,
                                   .start = start->time,
                                   .end = end ? end->time : capture_intervals_end(capture_intervals, start->called),
                                   .marked = start->marked,
                                   .thread = start->thread,
                                   .device = start->device,
                                   .context = start->context,
                                   .stream = start->stream,
                                   .end_stream = end ? end->stream : start->stream,
                                   .open_at_end = !end};
    if (!end && range->end > time)
        range->end = time;
    if (range->end < range->start)
        range->end = range->start; /* the end is in another stream, which reached it before */
    return true;
}

ORDER_OUTER_FIRST(outer_first, struct device_range, marked, number)
ORDER_BY(edges_by_place, struct device_edge, device, context, stream, time)

/* Closes the range that markers FIRST to END are of. */
static int end_range(struct device_ranges *ranges, size_t first, size_t end,
                     const struct capture_intervals *capture_intervals, uint64_t time)
{
    const struct stream_marker *markers = ranges->markers.items.items, *started = NULL, *ended = NULL;
    struct device_range range;
    for (size_t i = end; i-- > first;) {
        if (markers[i].ends)
            ended = &markers[i];
        else
            started = &markers[i];
    }
    if (!make_range(&range, started, ended, capture_intervals, time)) {
        ranges->untimed++;
        return 0;
    }
    struct device_edge begins = {range.device, range.context, range.stream, range.start}, ends = begins;
    ends.time = range.end;
    bool added = ADD(file_vector_push, &ranges->items, range) && ADD(file_vector_push, &ranges->edges, begins) &&
                 ADD(file_vector_push, &ranges->edges, ends);
    return added ? 0 : error_no_memory("device ranges");
}

int device_ranges_close(struct device_ranges *ranges, const struct capture_intervals *capture_intervals, uint64_t time)
{
    size_t count = ranges->markers.items.count;
    if (file_vector_sort(&ranges->markers.items, by_range) != 0)
        return error_no_memory("device ranges");
    const struct stream_marker *markers = ranges->markers.items.items;
    for (size_t first = 0, end, passed = 0; first < count; first = end) {
        for (end = first + 1; end < count && markers[end].range == markers[first].range;)
            end++;
        if (end_range(ranges, first, end, capture_intervals, time) != 0)
            return -1;
        if (end - passed >= EVICT_RANGES) {
            stream_markers_evict(&ranges->markers);
            file_vector_evict(&ranges->items);
            file_vector_evict(&ranges->edges);
            passed = end;
        }
    }
    file_vector_release(&ranges->markers.items);
    ranges->markers.marked = 0;
    if (file_vector_sort(&ranges->items, outer_first) != 0 || file_vector_sort(&ranges->edges, edges_by_place) != 0)
        return error_no_memory("device ranges");
    return 0;
}

bool device_ranges_cut(struct device_ranges *ranges, const struct event *work)
{
    const struct device_edge wanted = {work->device, work->context, work->stream, work->start};
    const struct device_edge *edges = ranges->edges.items;
    size_t after = COUNT_BEFORE(ranges->edges.count, i, edges_by_place(&edges[i], &wanted) <= 0);
    file_vector_found(&ranges->edges, after);
    if (after == ranges->edges.count)
        return false;
    const struct device_edge *next = &edges[after];
    return next->device == wanted.device && next->context == wanted.context && next->stream == wanted.stream &&
           next->time < work->end;
}

/* The agent records the CUDA event of a marker itself: neither the event nor the call is the program's. */
int index_device_range(struct process *process, const struct event *event)
{
    process->cuda = true;
    if (!process_knows_time(process, event->start)) {
        process->losses.undecoded++;
        return 0;
    }
    if (event->correlation != 0 && launches_suppress(process->launches, event) != 0)
        return -1;
    return device_ranges_index(process->device_ranges, event);
}

int index_stream_marker(struct process *process, const struct event *event)
{
    if (event->device != EVENT_NO_DEVICE && process_knows_time(process, event->start))
        stream_markers_mark(&process->device_ranges->markers, event);
    return 0;
}

void index_device_times(struct process *process)
{
    struct stream_markers *markers = &process->device_ranges->markers;
    uint64_t recorded = process->file.header.trace_bits, work = TRACE_KERNEL | TRACE_MEMCPY | TRACE_MEMSET;
    /* Work of kinds that were not recorded may lie between markers. */
    stream_markers_settle(markers, recorded == 0 || (recorded & work) == work);
    if (markers->first != 0)
        widen_process_time(process, markers->first, markers->last);
}

int resolve_device_ranges(struct process *process)
{
    for (size_t i = 0; i < process->device_ranges->items.count; i++) {
        const struct device_range *range = &process->device_ranges->items.items[i];
        struct track *stream = process_stream(process, TRACK_STREAM, range->device, range->context, range->stream);
        struct track *track = process_stream(process, TRACK_ANNOTATION, range->device, range->context, range->stream);
        if (!stream || !track || lanes_collect(&track->lanes, range->start, range->end) != 0)
            return -1;
        process_passed(process, i);
    }
    return 0;
}

void resolve_device_gpu_op(struct process *process, const struct event *event)
{
    if (!device_ranges_cut(process->device_ranges, event))
        return;
    struct track *track = tracks_get(&process->tracks, TRACK_ANNOTATION, event->device, event->context, event->stream);
    if (track)
        track->apart = true;
}
