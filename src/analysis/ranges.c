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

static struct range range_of(struct ranges *ranges, const struct event_fields *event, uint32_t thread)
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

static int start(struct ranges *ranges, const struct event_fields *event, uint32_t thread)
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

static int end(struct ranges *ranges, const struct event_fields *event, uint32_t thread)
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

int ranges_add(struct ranges *ranges, const struct event_fields *event, uint32_t thread)
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

#define CROWDED 16

static void step(struct range_walk *walk)
{
    do
        walk->next = sorter_next(&walk->walk);
    while (walk->next && walk->nesting && walk->next->started);
}

void range_walk_begin(struct range_walk *walk, const struct ranges *ranges, bool nesting)
{
    *walk = (struct range_walk){.nesting = nesting, .crowded = CROWDED};
    sorter_walk_begin(&walk->walk, &ranges->sorter);
    step(walk);
}

/* Those that end before what starts now, or has ended when it starts, are around nothing that a later one is not. So
 * each is passed by once. */
static void find_outer(struct range_walk *walk, size_t index)
{
    struct range_open *open = walk->open.items;
    const struct range *range = &open[index].range;
    int64_t least = range->end > range->start ? range->end : range->start + 1;
    uint32_t outer = (uint32_t)index;
    while (outer && open[outer - 1].range.end < least)
        outer = open[outer - 1].outer;
    open[index].outer = outer;
}

/* Once for as many as are left, so that it costs each range the same however many stay open. */
static void read_out_ended(struct range_walk *walk, int64_t time)
{
    size_t kept = 0;
    for (size_t i = 0; i < walk->open.count; i++)
        if (walk->open.items[i].range.end >= time) {
            walk->open.items[kept] = walk->open.items[i];
            find_outer(walk, kept++);
        }
    walk->open.count = kept;
    walk->crowded = kept < CROWDED / 2 ? CROWDED : 2 * kept;
}

static bool is_of(const struct range_walk *walk, uint32_t thread)
{
    return walk->open.count > 0 && walk->open.items[0].range.thread == thread;
}

static void close_ended(struct range_walk *walk, int64_t time)
{
    while (walk->open.count > 0 && walk->open.items[walk->open.count - 1].range.end < time)
        walk->open.count--;
}

struct range_open *range_walk_open(struct range_walk *walk, uint32_t thread, int64_t time)
{
    const struct range *next = walk->next;
    if (walk->no_memory || !next || next->thread > thread || (next->thread == thread && next->start > time))
        return NULL;
    if (!is_of(walk, next->thread))
        walk->open.count = 0;
    close_ended(walk, next->start);
    if (walk->open.count >= walk->crowded)
        read_out_ended(walk, next->start);
    struct range_open *open = array_push(&walk->open);
    walk->no_memory = !open;
    if (open) {
        *open = (struct range_open){.range = *next, .covered = next->start};
        find_outer(walk, walk->open.count - 1);
    }
    step(walk);
    return open;
}

struct range_open *range_walk_innermost(struct range_walk *walk, uint32_t thread, int64_t time)
{
    if (!is_of(walk, thread))
        return NULL;
    close_ended(walk, time);
    return walk->open.count > 0 ? &walk->open.items[walk->open.count - 1] : NULL;
}

int range_walk_end(struct range_walk *walk)
{
    int status = sorter_walk_end(&walk->walk);
    array_release(&walk->open);
    return walk->no_memory ? -1 : status;
}

int range_walk_ops(const struct ranges *ranges, bool nesting, const struct launched_ops *gpu_ops,
                   int (*each)(void *context, struct range_walk *walk, const struct launched_op *op),
                   int (*rest)(void *context, struct range_walk *walk), void *context)
{
    struct range_walk walk;
    struct sorter_walk walk_ops;
    const struct launched_op *op;
    int status = 0;
    range_walk_begin(&walk, ranges, nesting);
    sorter_walk_begin(&walk_ops, &gpu_ops->sorter);
    while (status == 0 && (op = sorter_next(&walk_ops)))
        status = each(context, &walk, op);
    if (status == 0 && rest)
        status = rest(context, &walk);
    int walked = sorter_walk_end(&walk_ops), ended = range_walk_end(&walk);
    return status ? status : walked ? walked : ended;
}
