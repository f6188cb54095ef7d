/* Sorts ranges by thread and start. A walk keeps a stack of open ranges, each linked to the range around it. */
#include "analysis/engine/ranges.h"

#include <string.h>

ORDER_WITH(by_thread_and_start, struct range, ORDER(a->thread, b->thread) ?: ORDER(a->start, b->start)
           ?: ORDER(b->end, a->end) ?: ORDER(a->number, b->number))

void ranges_init(struct ranges *ranges, struct sorter_space *space)
{
    *ranges = (struct ranges){0};
    sorter_init(&ranges->sorter, space, sizeof(struct range), by_thread_and_start);
}

void ranges_release(struct ranges *ranges)
{
    sorter_release(&ranges->sorter);
    range_starts_release(&ranges->starts);
}

static struct range range_of(struct ranges *ranges, const struct event_fields *event, uint32_t thread)
{
    return (struct range){.start = event->start,
                          .end = event->start + event->duration,
                          .name = event->name,
                          .domain = event_range(event)->domain,
                          .thread = thread,
                          .number = ranges->count++,
                          .category = event->category,
                          .shapes = event_operator(event)->shapes};
}

/* --- ranges by start and end --- */

void range_starts_release(struct range_starts *starts)
{
    array_release(&starts->items);
    map_release(&starts->last_by_id);
}

struct range *range_starts_push(struct range_starts *starts, uint64_t id)
{
    uint64_t *last = map_put(&starts->last_by_id, id, NULL);
    uint32_t place = starts->unused;
    if (!last || (!place && !array_push(&starts->items)))
        return NULL;
    if (place)
        starts->unused = starts->items.items[place - 1].next;
    else
        place = (uint32_t)starts->items.count;
    struct range_start *start = &starts->items.items[place - 1];
    *start = (struct range_start){.range = {.end = FIELD_ABSENT}, .next = (uint32_t)*last};
    *last = place;
    return &start->range;
}

#define DEPTH_MOST 64 /* the most ranges of one id among which the name of an end is searched */

bool range_starts_pop(struct range_starts *starts, uint64_t id, uint32_t name, struct range *range)
{
    uint64_t *last = map_get(&starts->last_by_id, id);
    struct range_start *items = starts->items.items;
    uint32_t place = last ? (uint32_t)*last : 0, inner = 0;
    for (int i = 0; place && name != EVENT_NO_TEXT && items[place - 1].range.name != name; i++) {
        inner = place;
        place = i < DEPTH_MOST ? items[place - 1].next : 0;
    }
    if (!place)
        return false;
    struct range_start *start = &items[place - 1];
    if (inner)
        items[inner - 1].next = start->next;
    else if (start->next)
        *last = start->next;
    else
        map_remove(&starts->last_by_id, id);
    *range = start->range;
    *start = (struct range_start){.next = starts->unused};
    starts->unused = place;
    return true;
}

static int start(struct ranges *ranges, const struct event_fields *event, uint32_t thread)
{
    struct range *range = range_starts_push(&ranges->starts, range_key(event));
    if (!range)
        return -1;
    *range = range_of(ranges, event, thread);
    range->started = true;
    range->end = FIELD_ABSENT;
    return 0;
}

static int end(struct ranges *ranges, const struct event_fields *event, uint32_t thread)
{
    struct range range;
    if (!range_starts_pop(&ranges->starts, range_key(event), event->name, &range))
        return 0;
    range.end = event->start > range.start ? event->start : range.start;
    if (sorter_add(&ranges->sorter, &range) < 0)
        return -1;
    if (range.thread == thread)
        return 0;
    range.thread = thread;
    return sorter_add(&ranges->sorter, &range);
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
    for (size_t i = 0; i < ranges->starts.items.count; i++) {
        struct range *range = &ranges->starts.items.items[i].range;
        if (range->end != FIELD_ABSENT)
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

/* Sets `outer` of the range at INDEX. An open range that ends before this range does cannot contain it, so the search
 * continues with the range around that one. */
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

struct range_open *range_walk_open(struct range_walk *walk, uint32_t thread, int64_t time)
{
    const struct range *next = walk->next;
    if (walk->no_memory || !next || next->thread > thread || (next->thread == thread && next->start > time))
        return NULL;
    if (walk->open.count == 0 || walk->open.items[0].range.thread != next->thread)
        walk->open.count = 0;
    while (walk->open.count > 0 && walk->open.items[walk->open.count - 1].range.end < next->start)
        walk->open.count--;
    if (walk->open.count >= walk->crowded) {
        /* The limit is twice the number of ranges that stay open, so that the amortised cost of a range does not depend
         * on that number. */
        size_t kept = 0;
        for (size_t i = 0; i < walk->open.count; i++)
            if (walk->open.items[i].range.end >= next->start) {
                walk->open.items[kept] = walk->open.items[i];
                find_outer(walk, kept++);
            }
        walk->open.count = kept;
        walk->crowded = kept < CROWDED / 2 ? CROWDED : 2 * kept;
    }
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
    if (walk->open.count == 0 || walk->open.items[0].range.thread != thread)
        return NULL;
    while (walk->open.count > 0 && walk->open.items[walk->open.count - 1].range.end < time)
        walk->open.count--;
    return walk->open.count > 0 ? &walk->open.items[walk->open.count - 1] : NULL;
}

uint32_t range_walk_name(struct range_walk *walk, uint32_t thread, int64_t time, int64_t *until)
{
    while (range_walk_open(walk, thread, time))
        ;
    const struct range_open *found = range_walk_innermost(walk, thread, time + 1);
    if (walk->next && walk->next->thread == thread && walk->next->start < *until)
        *until = walk->next->start;
    if (found && found->range.end < *until)
        *until = found->range.end;
    return found ? found->range.name : EVENT_NO_TEXT;
}

int range_walk_end(struct range_walk *walk)
{
    int status = sorter_walk_end(&walk->walk);
    array_release(&walk->open);
    return walk->no_memory ? -1 : status;
}

int range_walk_ops(const struct ranges *ranges, bool nesting, const struct sorter *gpu_ops,
                   int (*each)(void *context, struct range_walk *walk, const struct launched_op *op),
                   int (*rest)(void *context, struct range_walk *walk), void *context)
{
    struct range_walk walk;
    struct sorter_walk walk_ops;
    const struct launched_op *op;
    int status = 0;
    range_walk_begin(&walk, ranges, nesting);
    sorter_walk_begin(&walk_ops, gpu_ops);
    while (status == 0 && (op = sorter_next(&walk_ops)))
        status = each(context, &walk, op);
    if (status == 0 && rest)
        status = rest(context, &walk);
    int walked = sorter_walk_end(&walk_ops), ended = range_walk_end(&walk);
    return status ? status : walked ? walked : ended;
}

/* --- paths of captured ranges: each path is stored once, and split into names after the last event --- */

/* The text between two names, and the text that replaces outer names, as trace/meaning/gpu/captures.c writes them. */
#define SEPARATOR " / "
#define LEFT_OUT "…"

void captured_release(struct captured *captured)
{
    dense_map_release(&captured->ids);
    array_release(&captured->paths);
    array_release(&captured->names);
}

uint32_t captured_add(struct captured *captured, uint32_t text)
{
    uint64_t key = text;
    struct captured_path *path = dense_map_item(&captured->ids, &key, &captured->paths);
    if (!path)
        return CAPTURED_NO_MEMORY;
    path->text = text;
    return (uint32_t)(path - captured->paths.items) + 1;
}

static int add_name(struct captured *captured, struct captured_path *path, struct interner *strings, const char *text,
                    size_t length)
{
    if (length == 0 || (length == strlen(LEFT_OUT) && memcmp(text, LEFT_OUT, length) == 0))
        return 0;
    uint32_t name = intern(strings, text, length);
    if (name == INTERN_NO_MEMORY)
        return -1;
    for (uint32_t i = 0; i < path->count; i++)
        if (captured->names.items[path->first + i] == name) /* nested ranges may have one name */
            return 0;
    path->count++;
    return ADD(array_push, &captured->names, name) ? 0 : -1;
}

int captured_split(struct captured *captured, struct interner *strings)
{
    for (size_t i = 0; i < captured->paths.count; i++) {
        struct captured_path *path = &captured->paths.items[i];
        const char *at = interned(strings, path->text), *next;
        path->first = (uint32_t)captured->names.count;
        path->count = 0;
        for (; (next = strstr(at, SEPARATOR)); at = next + strlen(SEPARATOR))
            if (add_name(captured, path, strings, at, (size_t)(next - at)) < 0)
                return -1;
        if (add_name(captured, path, strings, at, strlen(at)) < 0)
            return -1;
    }
    return 0;
}
