#include "tool/report/ranges.h"

#include <stdlib.h>

void ranges_release(struct ranges *ranges)
{
    for (size_t i = 0; i < ranges->by_thread.count; i++)
        intervals_release(&ranges->by_thread.items[i]);
    array_release(&ranges->by_thread);
    array_release(&ranges->items);
    array_release(&ranges->nodes);
    groups_release(&ranges->node_ids);
    map_release(&ranges->open_by_id);
}

/* --- gathering --- */

static struct range *add(struct ranges *ranges, const struct trace_event *event, uint32_t thread)
{
    struct range *range = array_push(&ranges->items);
    if (range)
        *range = (struct range){.start = event->start,
                                .end = event->start + event->duration,
                                .name = event->name,
                                .domain = event->domain,
                                .thread = thread,
                                .end_thread = thread};
    return range;
}

static int start(struct ranges *ranges, const struct trace_event *event, uint32_t thread)
{
    uint64_t *last = map_put(&ranges->open_by_id, event->id, NULL);
    struct range *range = last ? add(ranges, event, thread) : NULL;
    if (!range)
        return -1;
    range->started = true;
    range->end = EVENT_NONE;
    range->next = (uint32_t)*last;
    *last = ranges->items.count;
    return 0;
}

static void end(struct ranges *ranges, const struct trace_event *event, uint32_t thread)
{
    uint64_t *last = map_get(&ranges->open_by_id, event->id);
    if (!last || *last == 0)
        return;
    struct range *range = &ranges->items.items[*last - 1];
    range->end = event->start > range->start ? event->start : range->start;
    range->end_thread = thread;
    *last = range->next;
}

int ranges_add(struct ranges *ranges, const struct trace_event *event, uint32_t thread)
{
    if (event->phase == 'X')
        return add(ranges, event, thread) ? 0 : -1;
    if (event->phase == 'b' && event->id != EVENT_NO_ID)
        return start(ranges, event, thread);
    if (event->phase == 'e' && event->id != EVENT_NO_ID)
        end(ranges, event, thread);
    return 0;
}

/* --- the forest --- */

/* Of those that nest, by thread; outer ones come before what is in them. */
static int by_thread_and_start(const void *a, const void *b)
{
    const struct range *left = a, *right = b;
    if (left->started != right->started)
        return left->started ? 1 : -1;
    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    return (left->next > right->next) - (left->next < right->next);
}

/* The ranges of a thread that are around the moment that the walk has come to, or may be. */
struct open_ranges {
    ARRAY(struct open_range {
        uint32_t range;
        int64_t covered; /* the time until which inner ranges took its own */
    })
    stack;
};

/* The innermost that is around RANGE as a whole; NULL: none. */
static struct open_range *find_around(const struct ranges *ranges, struct open_ranges *open, const struct range *range)
{
    while (open->stack.count > 0) {
        const struct range *last = &ranges->items.items[open->stack.items[open->stack.count - 1].range];
        if (last->thread == range->thread && last->end > range->start)
            break;
        open->stack.count--;
    }
    for (size_t i = open->stack.count; i-- > 0;)
        if (ranges->items.items[open->stack.items[i].range].end >= range->end)
            return &open->stack.items[i];
    return NULL;
}

static int put_node(struct ranges *ranges, struct range *range, uint32_t parent)
{
    struct {
        uint64_t parent, name, domain;
    } id = {parent, range->name, range->domain};
    size_t before = ranges->nodes.count;
    struct range_node *node = groups_item(&ranges->node_ids, &id, &ranges->nodes);
    if (!node)
        return -1;
    range->node = (uint32_t)(node - ranges->nodes.items);
    if (ranges->nodes.count > before)
        *node = (struct range_node){.parent = parent,
                                    .depth = parent ? ranges->nodes.items[parent - 1].depth + 1 : 0,
                                    .name = range->name,
                                    .domain = range->domain};
    return 0;
}

/* Takes the time of RANGE from what is around it; inner ones come by their start. */
static void take_time(struct ranges *ranges, struct open_range *around, const struct range *range)
{
    int64_t from = range->start > around->covered ? range->start : around->covered;
    if (range->end <= from)
        return;
    ranges->items.items[around->range].self -= range->end - from;
    around->covered = range->end;
}

static int place(struct ranges *ranges, struct open_ranges *open, uint32_t index)
{
    struct range *range = &ranges->items.items[index];
    struct open_range *around = find_around(ranges, open, range);
    range->self = range->end - range->start;
    if (put_node(ranges, range, around ? ranges->items.items[around->range].node + 1 : 0) < 0)
        return -1;
    if (around)
        take_time(ranges, around, range);
    struct open_range *added = array_push(&open->stack);
    if (!added)
        return -1;
    *added = (struct open_range){.range = index, .covered = range->start};
    return 0;
}

static int grow_forest(struct ranges *ranges)
{
    struct open_ranges open = {0};
    int status = 0;
    for (size_t i = 0; i < ranges->items.count && status == 0 && !ranges->items.items[i].started; i++)
        status = place(ranges, &open, (uint32_t)i);
    array_release(&open.stack);
    return status;
}

/* --- what is around a call --- */

static int list(struct ranges *ranges, uint32_t thread, uint32_t index)
{
    const struct range *range = &ranges->items.items[index];
    while (ranges->by_thread.count <= thread)
        if (!array_push(&ranges->by_thread))
            return -1;
    return intervals_add(&ranges->by_thread.items[thread], range->start, range->end, index);
}

static int list_all(struct ranges *ranges)
{
    for (size_t i = 0; i < ranges->items.count; i++) {
        const struct range *range = &ranges->items.items[i];
        if (list(ranges, range->thread, (uint32_t)i) < 0)
            return -1;
        if (range->end_thread != range->thread && list(ranges, range->end_thread, (uint32_t)i) < 0)
            return -1;
    }
    for (size_t i = 0; i < ranges->by_thread.count; i++)
        intervals_ready(&ranges->by_thread.items[i]);
    return 0;
}

int ranges_finish(struct ranges *ranges, int64_t end_of_all)
{
    for (size_t i = 0; i < ranges->items.count; i++) {
        struct range *range = &ranges->items.items[i];
        range->next = (uint32_t)i;
        if (range->end == EVENT_NONE)
            range->end = end_of_all > range->start ? end_of_all : range->start;
    }
    if (ranges->items.count > 1)
        qsort(ranges->items.items, ranges->items.count, sizeof(struct range), by_thread_and_start);
    return grow_forest(ranges) < 0 ? -1 : list_all(ranges);
}

int ranges_around(const struct ranges *ranges, const struct call *call, int (*each)(void *context, uint32_t range),
                  void *context)
{
    if (call->thread >= ranges->by_thread.count)
        return 0;
    return intervals_each(&ranges->by_thread.items[call->thread], call->start, each, context);
}

struct innermost {
    const struct ranges *ranges;
    uint32_t node;
};

static int take_node(void *context, uint32_t range)
{
    struct innermost *innermost = context;
    if (!innermost->ranges->items.items[range].started)
        innermost->node = innermost->ranges->items.items[range].node + 1;
    return 0;
}

uint32_t ranges_node_of(const struct ranges *ranges, const struct call *call)
{
    struct innermost innermost = {ranges, 0};
    ranges_around(ranges, call, take_node, &innermost);
    return innermost.node;
}
