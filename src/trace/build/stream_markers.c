#include "trace/build/stream_markers.h"

#include "common/array.h"
#include "common/log.h"

#define REST_MOMENTS ((size_t)1 << 17) /* are settled before pages are given back */

void stream_markers_release(struct stream_markers *moments)
{
    file_vector_release(&moments->items);
    moments->marked = 0;
}

int stream_markers_add(struct stream_markers *moments, const struct stream_marker *moment)
{
    struct stream_marker *added = file_vector_push(&moments->items);
    if (!added)
        return error_no_memory("device ranges");
    *added = *moment;
    return 0;
}

static int by_correlation(const void *a, const void *b)
{
    const struct stream_marker *left = a, *right = b;
    return left->correlation < right->correlation ? -1 : left->correlation > right->correlation;
}

int stream_markers_list(struct stream_markers *moments)
{
    return file_vector_sort(&moments->items, by_correlation) == 0 ? 0 : error_no_memory("device ranges");
}

/* The first of COUNT that is not before WANTED. */
static size_t first_from(struct stream_markers *moments, size_t count, const struct stream_marker *wanted,
                         int (*compare)(const void *, const void *))
{
    size_t first = array_before(moments->items.items, count, sizeof(*wanted), wanted, compare);
    file_vector_found(&moments->items, first);
    return first;
}

void stream_markers_mark(struct stream_markers *moments, const struct event *event)
{
    const struct stream_marker wanted = {.correlation = event->correlation};
    if (event->correlation == 0 || moments->items.count == 0)
        return;
    size_t index = first_from(moments, moments->items.count, &wanted, by_correlation);
    struct stream_marker *moment = &moments->items.items[index];
    if (index == moments->items.count || moment->correlation != event->correlation)
        return;
    moment->marked = moment->time = event->start;
    moment->device = event->device;
    moment->context = event->context;
    moment->stream = event->stream;
}

static int by_place(const struct stream_marker *left, const struct stream_marker *right)
{
    if (left->device != right->device)
        return left->device < right->device ? -1 : 1;
    if (left->context != right->context)
        return left->context < right->context ? -1 : 1;
    if (left->stream != right->stream)
        return left->stream < right->stream ? -1 : 1;
    return 0;
}

static int by_place_and_time(const void *a, const void *b)
{
    const struct stream_marker *left = a, *right = b;
    int order = by_place(left, right);
    if (order != 0)
        return order;
    if (left->marked != right->marked)
        return left->marked < right->marked ? -1 : 1;
    return left->called < right->called ? -1 : left->called > right->called;
}

/* Those without a time come last. */
static int marked_first(const void *a, const void *b)
{
    const struct stream_marker *left = a, *right = b;
    if (left->marked == 0 || right->marked == 0)
        return (left->marked == 0) - (right->marked == 0);
    return by_place_and_time(a, b);
}

int stream_markers_order(struct stream_markers *moments)
{
    if (file_vector_sort(&moments->items, marked_first) != 0)
        return error_no_memory("device ranges");
    for (moments->marked = moments->items.count; moments->marked > 0; moments->marked--)
        if (moments->items.items[moments->marked - 1].marked != 0)
            break;
    stream_markers_rest(moments);
    return 0;
}

/* The first in the work's stream at TIME or later; NULL: there is none. */
static struct stream_marker *first_in_stream(struct stream_markers *moments, const struct event *work, uint64_t time)
{
    const struct stream_marker wanted = {
        .marked = time, .device = work->device, .context = work->context, .stream = work->stream};
    size_t index = first_from(moments, moments->marked, &wanted, by_place_and_time);
    struct stream_marker *moment = &moments->items.items[index];
    return index < moments->marked && by_place(moment, &wanted) == 0 ? moment : NULL;
}

/* The first moment behind it learns of it; the later ones when they are settled. */
void stream_markers_find_work(struct stream_markers *moments, const struct event *work)
{
    struct stream_marker *moment = first_in_stream(moments, work, work->end);
    if (moment && moment->work_ended < work->end)
        moment->work_ended = work->end;
    moment = first_in_stream(moments, work, work->start + 1);
    if (moment && moment->work_started < work->start)
        moment->work_started = work->start;
}

/* Whether it comes soon after what is shown at TIME and was MARKED then. A moment that the program called for before
 * that was in the stream already: what passed since the mark is its own event's time. */
static bool comes_soon(const struct stream_marker *moment, uint64_t time, uint64_t marked)
{
    uint64_t since = moment->called <= time ? marked : time;
    return moment->marked - since <= DEVICE_MOMENT_SOON;
}

/* PREVIOUS: in the same stream, settled; NULL: there is none. */
static void settle(struct stream_marker *moment, const struct stream_marker *previous, bool all_work)
{
    bool worked = moment->work_ended != 0;
    if (previous && moment->work_started < previous->work_started)
        moment->work_started = previous->work_started;
    if (previous && moment->work_ended < previous->work_ended) {
        moment->work_ended = previous->work_ended;
        worked = false;
    }
    if (moment->work_started > moment->work_ended)
        return; /* the clocks of events and of work differ by some ns: it is within the work that started last */
    if (worked || (moment->work_ended != 0 && !all_work)) {
        if (comes_soon(moment, moment->work_ended, moment->work_ended))
            moment->time = moment->work_ended;
    } else if (previous && all_work && comes_soon(moment, previous->time, previous->marked)) {
        moment->time = previous->time;
    }
}

void stream_markers_settle(struct stream_markers *moments, bool all_work)
{
    const struct stream_marker *previous = NULL;
    for (size_t i = 0; i < moments->marked; i++) {
        struct stream_marker *moment = &moments->items.items[i];
        bool other_stream = previous && by_place(previous, moment) != 0;
        settle(moment, other_stream ? NULL : previous, all_work);
        if (moments->first == 0 || moment->time < moments->first)
            moments->first = moment->time;
        if (moment->time > moments->last)
            moments->last = moment->time;
        previous = moment;
        if (i % REST_MOMENTS == 0)
            stream_markers_rest(moments);
    }
}
