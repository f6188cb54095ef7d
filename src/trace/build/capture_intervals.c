#include "trace/build/capture_intervals.h"

#include "common/log.h"

void windows_release(struct windows *windows)
{
    big_array_release(&windows->marks);
}

int windows_mark(struct windows *windows, const struct event *event)
{
    struct window_mark *mark = big_array_push(&windows->marks);
    if (!mark)
        return error_no_memory("capture windows");
    *mark = (struct window_mark){.time = event->start, .on = event->capture.on};
    windows->limited |= !mark->on;
    windows->any_on |= mark->on;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct window_mark *left = a, *right = b;
    return left->time < right->time ? -1 : left->time > right->time;
}

int windows_close(struct windows *windows)
{
    return big_array_sort(&windows->marks, by_time) == 0 ? 0 : error_no_memory("capture windows");
}

/* Marks at or before TIME. */
static size_t marks_until(const struct windows *windows, uint64_t time)
{
    size_t low = 0, high = windows->marks.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (windows->marks.items[middle].time <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool windows_hold(const struct windows *windows, uint64_t time)
{
    if (!windows->limited)
        return true;
    size_t until = marks_until(windows, time);
    /* Before the first mark is what came while the mark was being made. */
    return until > 0 ? windows->marks.items[until - 1].on : windows->marks.items[0].on;
}

uint64_t windows_end(const struct windows *windows, uint64_t time)
{
    if (!windows->limited)
        return UINT64_MAX;
    for (size_t i = marks_until(windows, time); i < windows->marks.count; i++)
        if (!windows->marks.items[i].on)
            return windows->marks.items[i].time;
    return UINT64_MAX;
}
