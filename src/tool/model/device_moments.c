#include "tool/model/device_moments.h"

#include <stdlib.h>

#include "base/log.h"

void device_moments_release(struct device_moments *moments)
{
    array_release(&moments->marks);
}

int device_moments_add(struct device_moments *moments, struct device_moment *moment)
{
    struct device_mark *mark = array_push(&moments->marks);
    if (!mark)
        return error_no_memory("device ranges");
    *mark = (struct device_mark){.moment = moment};
    return 0;
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
    const struct device_moment *left = ((const struct device_mark *)a)->moment;
    const struct device_moment *right = ((const struct device_mark *)b)->moment;
    int order = by_place(left, right);
    if (order != 0)
        return order;
    if (left->marked != right->marked)
        return left->marked < right->marked ? -1 : 1;
    return left->called < right->called ? -1 : left->called > right->called;
}

void device_moments_order(struct device_moments *moments)
{
    if (moments->marks.count > 1)
        qsort(moments->marks.items, moments->marks.count, sizeof(*moments->marks.items), by_place_and_time);
}

/* The first in the work's stream at TIME or later; NULL: there is none. */
static struct device_mark *first_from(const struct device_moments *moments, const struct event *work, uint64_t time)
{
    struct device_moment at = {
        .marked = time, .device = work->device, .context = work->context, .stream = work->stream};
    const struct device_mark wanted = {.moment = &at};
    size_t low = 0, high = moments->marks.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_place_and_time(&moments->marks.items[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == moments->marks.count || by_place(moments->marks.items[low].moment, &at) != 0)
        return NULL;
    return &moments->marks.items[low];
}

/* The first moment behind it learns of it; the later ones when they are settled. */
void device_moments_find_work(struct device_moments *moments, const struct event *work)
{
    struct device_mark *mark = first_from(moments, work, work->end);
    if (mark && mark->ended < work->end)
        mark->ended = work->end;
    mark = first_from(moments, work, work->start + 1);
    if (mark && mark->started < work->start)
        mark->started = work->start;
}

/* Whether it comes soon after what is shown at TIME and was MARKED then. A moment that the program called for before
 * that was in the stream already: what passed since the mark is its own event's time. */
static bool comes_soon(const struct device_moment *moment, uint64_t time, uint64_t marked)
{
    uint64_t since = moment->called <= time ? marked : time;
    return moment->marked - since <= DEVICE_MOMENT_SOON;
}

/* PREVIOUS: in the same stream, settled; NULL: there is none. */
static void settle(struct device_mark *mark, const struct device_mark *previous, bool all_work)
{
    struct device_moment *moment = mark->moment;
    bool worked = mark->ended != 0;
    if (previous && mark->started < previous->started)
        mark->started = previous->started;
    if (previous && mark->ended < previous->ended) {
        mark->ended = previous->ended;
        worked = false;
    }
    if (mark->started > mark->ended)
        return; /* the clocks of events and of work differ by some ns: it is within the work that started last */
    if (worked || (mark->ended != 0 && !all_work)) {
        if (comes_soon(moment, mark->ended, mark->ended))
            moment->time = mark->ended;
    } else if (previous && all_work && comes_soon(moment, previous->moment->time, previous->moment->marked)) {
        moment->time = previous->moment->time;
    }
}

void device_moments_settle(struct device_moments *moments, bool all_work)
{
    const struct device_mark *previous = NULL;
    for (size_t i = 0; i < moments->marks.count; i++) {
        struct device_mark *mark = &moments->marks.items[i];
        bool other_stream = previous && by_place(previous->moment, mark->moment) != 0;
        settle(mark, other_stream ? NULL : previous, all_work);
        previous = mark;
    }
}
