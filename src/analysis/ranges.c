#include "analysis/ranges.h"

static int by_thread_and_start(const void *a, const void *b)
{
    const struct range *left = a, *right = b;
    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

void ranges_init(struct ranges *ranges, struct sorter_room *room)
{
    *ranges = (struct ranges){0};
    sorter_init(&ranges->sorter, room, sizeof(struct range), by_thread_and_start);
}

void ranges_release(struct ranges *ranges)
{
    sorter_release(&ranges->sorter);
    array_release(&ranges->starts);
    map_release(&ranges->last_by_id);
}

static struct range range_of(struct ranges *ranges, const struct trace_event *event, uint32_t thread)
{
    return (struct range){.start = event->start,
                          .end = event->start + event->duration,
                          .name = event->name,
                          .domain = event->domain,
                          .thread = thread,
                          .number = ranges->count++};
}

/* --- those that are started and ended --- */

/* The index + 1 of a place; 0: no memory. */
static uint32_t find_place(struct ranges *ranges)
{
    uint32_t place = ranges->unused;
    if (place)
        ranges->unused = ranges->starts.items[place - 1].next;
    else if (array_push(&ranges->starts))
        place = (uint32_t)ranges->starts.count;
    return place;
}

static int start(struct ranges *ranges, const struct trace_event *event, uint32_t thread)
{
    uint64_t *last = map_put(&ranges->last_by_id, event->id, NULL);
    uint32_t place = last ? find_place(ranges) : 0;
    if (!place)
        return -1;
    struct range_start *start = &ranges->starts.items[place - 1];
    *start = (struct range_start){.range = range_of(ranges, event, thread), .next = (uint32_t)*last};
    start->range.started = true;
    start->range.end = EVENT_NONE;
    *last = place;
    return 0;
}

static int add_to_both(struct ranges *ranges, struct range range, uint32_t end_thread)
{
    if (sorter_add(&ranges->sorter, &range) < 0)
        return -1;
    if (range.thread == end_thread)
        return 0;
    range.thread = end_thread;
    return sorter_add(&ranges->sorter, &range);
}

static int end(struct ranges *ranges, const struct trace_event *event, uint32_t thread)
{
    uint64_t *last = map_get(&ranges->last_by_id, event->id);
    if (!last || *last == 0)
        return 0;
    uint32_t place = (uint32_t)*last;
    struct range_start *start = &ranges->starts.items[place - 1];
    if (start->next)
        *last = start->next;
    else
        map_remove(&ranges->last_by_id, event->id);
    start->range.end = event->start > start->range.start ? event->start : start->range.start;
    start->next = ranges->unused;
    ranges->unused = place;
    return add_to_both(ranges, start->range, thread);
}

/* --- */

int ranges_add(struct ranges *ranges, const struct trace_event *event, uint32_t thread)
{
    if (event->phase == 'X') {
        struct range range = range_of(ranges, event, thread);
        return sorter_add(&ranges->sorter, &range);
    }
    if (event->phase == 'b' && event->id != EVENT_NO_ID)
        return start(ranges, event, thread);
    if (event->phase == 'e' && event->id != EVENT_NO_ID)
        return end(ranges, event, thread);
    return 0;
}

int ranges_finish(struct ranges *ranges, int64_t end_of_all)
{
    for (size_t i = 0; i < ranges->starts.count; i++) {
        struct range *range = &ranges->starts.items[i].range;
        if (range->end != EVENT_NONE)
            continue;
        range->end = end_of_all > range->start ? end_of_all : range->start;
        if (sorter_add(&ranges->sorter, range) < 0)
            return -1;
    }
    return sorter_ready(&ranges->sorter);
}
