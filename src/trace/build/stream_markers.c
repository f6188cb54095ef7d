#include "trace/build/stream_markers.h"

#include "common/log.h"

#define REST_MOMENTS ((size_t)1 << 17) /* are settled before pages are given back */

void device_moments_release(struct device_moments *moments)
{
    big_array_release(&moments->items);
    moments->marked = 0;
}

int device_moments_add(struct device_moments *moments, const struct device_moment *moment)
{
    struct device_moment *added = big_array_push(&moments->items);
    if (!added)
        return error_no_memory("device ranges");
    *added = *moment;
    return 0;
}

static int by_correlation(const void *a, const void *b)
{
    const struct device_moment *left = a, *right = b;
    return left->correlation < right->correlation ? -1 : left->correlation > right->correlation;
}

int device_moments_list(struct device_moments *moments)
{
    return big_array_sort(&moments->items, by_correlation) == 0 ? 0 : error_no_memory("device ranges");
}

/* The first of COUNT that is not before WANTED. */
static size_t first_from(struct device_moments *moments, size_t count, const struct device_moment *wanted,
                         int (*compare)(const void *, const void *))
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&moments->items.items[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    big_array_found(&moments->items, low);
    return low;
}

void device_moments_mark(struct device_moments *moments, const struct event *event)
{
    const struct device_moment wanted = {.correlation = event->correlation};
    if (event->correlation == 0 || moments->items.count == 0)
        return;
    size_t index = first_from(moments, moments->items.count, &wanted, by_correlation);
    struct device_moment *moment = &moments->items.items[index];
    if (index == moments->items.count || moment->correlation != event->correlation)
        return;
    moment->marked = moment->time = event->start;
    moment->device = event->device;
    moment->context = event->context;
    moment->stream = event->stream;
}

static int by_place(const struct device_moment *left, const struct device_moment *right)
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
    const struct device_moment *left = a, *right = b;
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
    const struct device_moment *left = a, *right = b;
    if (left->marked == 0 || right->marked == 0)
        return (left->marked == 0) - (right->marked == 0);
    return by_place_and_time(a, b);
}

int device_moments_order(struct device_moments *moments)
{
    if (big_array_sort(&moments->items, marked_first) != 0)
        return error_no_memory("device ranges");
    size_t low = 0, high = moments->items.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (moments->items.items[middle].marked != 0)
            low = middle + 1;
        else
            high = middle;
    }
    moments->marked = low;
    device_moments_rest(moments);
    return 0;
}

/* The first in the work's stream at TIME or later; NULL: there is none. */
static struct device_moment *first_in_stream(struct device_moments *moments, const struct event *work, uint64_t time)
{
    const struct device_moment wanted = {
        .marked = time, .device = work->device, .context = work->context, .stream = work->stream};
    size_t index = first_from(moments, moments->marked, &wanted, by_place_and_time);
    struct device_moment *moment = &moments->items.items[index];
    return index < moments->marked && by_place(moment, &wanted) == 0 ? moment : NULL;
}

/* The first moment behind it learns of it; the later ones when they are settled. */
void device_moments_find_work(struct device_moments *moments, const struct event *work)
{
    struct device_moment *moment = first_in_stream(moments, work, work->end);
    if (moment && moment->work_ended < work->end)
        moment->work_ended = work->end;
    moment = first_in_stream(moments, work, work->start + 1);
    if (moment && moment->work_started < work->start)
        moment->work_started = work->start;
}

/* Whether it comes soon after what is shown at TIME and was MARKED then. A moment that the program called for before
 * that was in the stream already: what passed since the mark is its own event's time. */
static bool comes_soon(const struct device_moment *moment, uint64_t time, uint64_t marked)
{
    uint64_t since = moment->called <= time ? marked : time;
    return moment->marked - since <= DEVICE_MOMENT_SOON;
}

/* PREVIOUS: in the same stream, settled; NULL: there is none. */
static void settle(struct device_moment *moment, const struct device_moment *previous, bool all_work)
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

void device_moments_settle(struct device_moments *moments, bool all_work)
{
    const struct device_moment *previous = NULL;
    for (size_t i = 0; i < moments->marked; i++) {
        struct device_moment *moment = &moments->items.items[i];
        bool other_stream = previous && by_place(previous, moment) != 0;
        settle(moment, other_stream ? NULL : previous, all_work);
        if (moments->first == 0 || moment->time < moments->first)
            moments->first = moment->time;
        if (moment->time > moments->last)
            moments->last = moment->time;
        previous = moment;
        if (i % REST_MOMENTS == 0)
            device_moments_rest(moments);
    }
}
