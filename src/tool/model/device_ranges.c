#include "tool/model/device_ranges.h"

#include <stdlib.h>

#include "base/log.h"

void device_ranges_release(struct device_ranges *ranges)
{
    array_release(&ranges->items);
    array_release(&ranges->edges);
    device_moments_release(&ranges->moments);
    map_release(&ranges->by_number);
    map_release(&ranges->by_correlation);
}

static int no_memory(void)
{
    return error_no_memory("device ranges");
}

/* Starts and ends come in any order: they may be of several threads. */
static struct device_range *put_range(struct device_ranges *ranges, uint64_t number)
{
    uint64_t *index = map_put(&ranges->by_number, number, NULL);
    if (!index || (*index == 0 && !array_push(&ranges->items)))
        return NULL;
    if (*index == 0)
        *index = ranges->items.count;
    struct device_range *range = &ranges->items.items[*index - 1];
    range->number = number;
    return range;
}

int device_ranges_see(struct device_ranges *ranges, const struct event *event)
{
    struct device_range *range = put_range(ranges, event->device_range.number);
    if (!range)
        return no_memory();
    bool ended = event->device_range.ended;
    struct device_moment *moment = ended ? &range->end : &range->start;
    if (moment->called)
        return 0; /* ended twice: the first counts */
    moment->called = event->start;
    if (!ended) {
        range->record = event->record;
        range->thread = event->thread;
    }
    if (event->correlation == 0)
        return 0;
    uint64_t *place = map_put(&ranges->by_correlation, event->correlation, NULL);
    if (!place)
        return no_memory();
    *place = (uint64_t)(range - ranges->items.items) * 2 + ended;
    return 0;
}

void device_ranges_time(struct device_ranges *ranges, const struct event *event)
{
    const uint64_t *place = map_get(&ranges->by_correlation, event->correlation);
    if (!place)
        return;
    struct device_range *range = &ranges->items.items[*place / 2];
    struct device_moment *moment = *place % 2 ? &range->end : &range->start;
    moment->marked = moment->time = event->start;
    moment->device = event->device;
    moment->context = event->context;
    moment->stream = event->stream;
}

int device_ranges_order(struct device_ranges *ranges)
{
    for (size_t i = 0; i < ranges->items.count; i++) {
        struct device_range *range = &ranges->items.items[i];
        if ((range->start.marked != 0 && device_moments_add(&ranges->moments, &range->start) != 0) ||
            (range->end.marked != 0 && device_moments_add(&ranges->moments, &range->end) != 0))
            return -1;
    }
    device_moments_order(&ranges->moments);
    return 0;
}

void device_ranges_settle(struct device_ranges *ranges, bool all)
{
    device_moments_settle(&ranges->moments, all);
    device_moments_release(&ranges->moments); /* before the ranges move */
}

/* False: a time is missing. */
static bool close_range(struct device_range *range, const struct windows *windows, uint64_t time)
{
    if (!range->record || range->start.time == 0)
        return false;
    range->open_at_end = range->end.called == 0;
    if (range->open_at_end) {
        uint64_t end = windows_end(windows, range->start.called);
        range->end = range->start;
        range->end.time = end < time ? end : time;
    }
    if (range->end.time == 0)
        return false;
    if (range->end.time < range->start.time)
        range->end.time = range->start.time; /* in another stream, which was there first */
    return true;
}

static int outer_first(const void *a, const void *b)
{
    const struct device_range *left = a, *right = b;
    if (left->start.time != right->start.time)
        return left->start.time < right->start.time ? -1 : 1;
    if (left->end.time != right->end.time)
        return left->end.time > right->end.time ? -1 : 1;
    if (left->start.marked != right->start.marked) /* put at the same time: the outer one was there first */
        return left->start.marked < right->start.marked ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static int by_place_and_time(const void *a, const void *b)
{
    const struct device_edge *left = a, *right = b;
    if (left->device != right->device)
        return left->device < right->device ? -1 : 1;
    if (left->context != right->context)
        return left->context < right->context ? -1 : 1;
    if (left->stream != right->stream)
        return left->stream < right->stream ? -1 : 1;
    return left->time < right->time ? -1 : left->time > right->time;
}

static int add_edges(struct device_ranges *ranges, const struct device_range *range)
{
    const uint64_t times[] = {range->start.time, range->end.time};
    for (unsigned i = 0; i < 2; i++) {
        struct device_edge *edge = array_push(&ranges->edges);
        if (!edge)
            return no_memory();
        *edge = (struct device_edge){range->start.device, range->start.context, range->start.stream, times[i]};
    }
    return 0;
}

int device_ranges_close(struct device_ranges *ranges, const struct windows *windows, uint64_t time)
{
    size_t kept = 0;
    for (size_t i = 0; i < ranges->items.count; i++) {
        struct device_range *range = &ranges->items.items[i];
        if (!close_range(range, windows, time))
            ranges->untimed++;
        else if (add_edges(ranges, range) != 0)
            return -1;
        else
            ranges->items.items[kept++] = *range;
    }
    ranges->items.count = kept;
    map_release(&ranges->by_number);
    map_release(&ranges->by_correlation);
    if (kept == 0)
        return 0;
    qsort(ranges->items.items, kept, sizeof(*ranges->items.items), outer_first);
    qsort(ranges->edges.items, ranges->edges.count, sizeof(*ranges->edges.items), by_place_and_time);
    return 0;
}

bool device_ranges_cut(const struct device_ranges *ranges, const struct event *work)
{
    const struct device_edge wanted = {work->device, work->context, work->stream, work->start};
    size_t low = 0, high = ranges->edges.count; /* the first after the work's start */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_place_and_time(&ranges->edges.items[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == ranges->edges.count)
        return false;
    const struct device_edge *next = &ranges->edges.items[low];
    return next->device == wanted.device && next->context == wanted.context && next->stream == wanted.stream &&
           next->time < work->end;
}
