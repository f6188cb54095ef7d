/*
 * Applies allocations and releases to groups, and updates the peak of each place as it rises. A group saves how much it
 * had at the peak when it first changes after the peak.
 */
#include "analysis/engine/heap.h"

#include "analysis/base/cost_sum.h"

#include <stdlib.h>
#include <string.h>

struct heap_space_id {
    int64_t source;
    event_id process;
};

void heap_init(struct heap *heap, const struct interner *strings)
{
    *heap = (struct heap){.strings = strings, .asked_at = FIELD_ABSENT};
}

void heap_release(struct heap *heap)
{
    for (size_t i = 0; i < heap->spaces.count; i++)
        map_release(&heap->spaces.items[i].oldest);
    dense_map_release(&heap->group_ids);
    dense_map_release(&heap->place_ids);
    dense_map_release(&heap->space_ids);
    array_release(&heap->groups);
    array_release(&heap->places);
    array_release(&heap->spaces);
    array_release(&heap->lives);
    array_release(&heap->then);
    array_release(&heap->steps);
    array_release(&heap->failures);
}

/* --- what is live --- */

static struct heap_group *group_of(struct heap *heap, const struct heap_group_id *id)
{
    struct heap_place_id place = {id->source, id->process, id->device};
    struct heap_place *of = dense_map_item(&heap->place_ids, &place, &heap->places);
    size_t before = heap->groups.count;
    struct heap_group *group = of ? dense_map_item(&heap->group_ids, id, &heap->groups) : NULL;
    if (group && heap->groups.count > before)
        group->place = (uint32_t)(of - heap->places.items);
    return group;
}

/* Updates the peak of a place that changed outside of the windows: its size at the beginning of the next window
 * counts. */
static void update_peak(const struct heap *heap, struct heap_place *place, int64_t time)
{
    const struct window *window = windows_next(heap->windows, place->changed_at);
    if (!window || window->start > time)
        return;
    place->unseen = false;
    if (place->bytes <= place->peak)
        return;
    place->peak = place->bytes;
    place->peak_at = window->start;
    place->epoch++;
}

/* Adds BY to the number of live allocations of a group. At its first change after its place's peak, the group saves the
 * number at the peak, so that a new peak need not visit all groups. */
static void change(struct heap *heap, struct heap_group *group, int64_t by, int64_t bytes, int64_t time)
{
    struct heap_place *place = &heap->places.items[group->place];
    if (place->unseen)
        update_peak(heap, place, time);
    if (group->epoch != place->epoch) {
        group->live_then = group->live;
        group->epoch = place->epoch;
    }
    group->live += by;
    place->released = by > 0 ? 0 : sum_of(place->released, bytes);
    place->bytes =
        (int64_t)((uint64_t)place->bytes + (uint64_t)(by * bytes)); /* the sum of a damaged file may overflow */
    if (heap->windows && !windows_around(heap->windows, time)) {
        place->unseen = true;
        place->changed_at = time;
        return;
    }
    if (place->bytes <= place->peak)
        return;
    place->peak = place->bytes;
    place->peak_at = time;
    place->epoch++;
}

int64_t heap_group_at_peak(const struct heap *heap, size_t number)
{
    const struct heap_group *group = &heap->groups.items[number];
    return group->epoch == heap->places.items[group->place].epoch ? group->live_then : group->live;
}

static int allocate(struct heap *heap, struct heap_space *space, const struct heap_group_id *id, uint64_t address,
                    int64_t time, bool outside)
{
    struct heap_group *group = group_of(heap, id);
    uint32_t index = heap->free;
    if (index)
        heap->free = heap->lives.items[index - 1].next;
    else if (group && array_push(&heap->lives))
        index = (uint32_t)heap->lives.count;
    uint64_t *place = group && index ? map_put(&space->oldest, address, NULL) : NULL;
    if (!place)
        return -1;
    struct heap_live *lives = heap->lives.items;
    uint32_t number = (uint32_t)(group - heap->groups.items);
    lives[index - 1] = (struct heap_live){.group = number, .address = address, .time = time, .used = true};
    uint32_t last = (uint32_t)*place;
    while (last != 0 &&
           lives[last - 1].next != 0) /* rare: the address was allocated again before its release was recorded */
        last = lives[last - 1].next;
    if (last == 0)
        *place = index;
    else
        lives[last - 1].next = index;
    group->allocations += !outside;
    change(heap, group, 1, id->size, time);
    return 0;
}

/* Releases the memory at ADDRESS. Returns false if the trace has no allocation of it. */
static bool release_memory(struct heap *heap, struct heap_space *space, uint64_t address, int64_t time, bool outside)
{
    uint64_t *place = map_get(&space->oldest, address);
    if (!place)
        return false;
    uint32_t index = (uint32_t)*place;
    struct heap_live *live = &heap->lives.items[index - 1];
    struct heap_group *group = &heap->groups.items[live->group];
    int64_t lived = time - live->time;
    if (!outside && lived >= 0 && lived < HEAP_BRIEF_NS) {
        struct heap_brief *brief = &group->brief;
        brief->shortest = brief->count == 0 || lived < brief->shortest ? lived : brief->shortest;
        brief->longest = lived > brief->longest ? lived : brief->longest;
        sum_add(&brief->time, lived);
        brief->count++;
    }
    change(heap, group, -1, heap_group_id(heap, live->group)->size, time);
    if (live->next != 0)
        *place = live->next;
    else
        map_remove(&space->oldest, address);
    *live = (struct heap_live){.next = heap->free};
    heap->free = index;
    return true;
}

/* --- what was live at the time of --snapshot --- */

static int keep_live(void *context, uint64_t address, uint64_t *oldest)
{
    struct heap *heap = context;
    for (uint32_t index = (uint32_t)*oldest; index != 0; index = heap->lives.items[index - 1].next)
        if (!ADD(array_push, &heap->then, heap->lives.items[index - 1]))
            return -1;
    return 0;
}

static int pass(struct heap *heap, struct heap_space *space)
{
    const struct heap_space_id *of = dense_map_row(&heap->space_ids, (size_t)(space - heap->spaces.items));
    space->passed = true;
    for (size_t i = 0; i < heap->groups.count; i++)
        if (heap_group_id(heap, i)->process == of->process && heap_group_id(heap, i)->source == of->source)
            heap->groups.items[i].live_asked = heap->groups.items[i].live;
    return map_each(&space->oldest, keep_live, heap);
}

/* Returns the addresses of a process for an event at TIME. The first event after --snapshot's time saves what is live.
 * Returns NULL without memory. */
static struct heap_space *space_at(struct heap *heap, enum heap_source source, event_id process, int64_t time)
{
    struct heap_space_id id = {source, process};
    struct heap_space *space = dense_map_item(&heap->space_ids, &id, &heap->spaces);
    bool passes = space && heap->asked_at != FIELD_ABSENT && !space->passed && time > heap->asked_at;
    return passes && pass(heap, space) < 0 ? NULL : space;
}

/* --- from instants of gputrace and PyTorch to changes of the heap --- */

#define PYTORCH_MEMORY "[memory]"

/* --- gputrace's instants --- */

static int fail(struct heap *heap, const struct event_fields *event, const struct heap_group_id *asked, int64_t held)
{
    return ADD(array_push, &heap->failures,
               (struct heap_failure){.asked = *asked,
                                     .time = event->start,
                                     .held = held,
                                     .result = event->return_value,
                                     .held_by_kind = event_memory(event)->held_by_kind})
               ? 0
               : -1;
}

static bool starts_with(const struct heap *heap, uint32_t text, const char *start)
{
    return text != EVENT_NO_TEXT && strncmp(interned(heap->strings, text), start, strlen(start)) == 0;
}

static bool is_size(int64_t bytes)
{
    return bytes >= 0 && bytes <= HEAP_SIZE_MAX;
}

static int own_event(struct heap *heap, const struct event_fields *event)
{
    const struct memory_fields *memory = event_memory(event);
    bool failed = event->return_value != FIELD_ABSENT && event->return_value != 0;
    bool allocation = starts_with(heap, event->name, "Allocat"), outside = event->phase == HEAP_OUTSIDE;
    struct heap_group_id id = {.source = HEAP_OF_GPUTRACE,
                               .process = event->process,
                               .device = event->device < 0 ? FIELD_ABSENT : event->device,
                               .kind = memory->kind,
                               .size = event->bytes,
                               .stack = event->stack};
    if (allocation && failed)
        return outside ? 0 : fail(heap, event, &id, memory->held);
    struct heap_space *space = space_at(heap, HEAP_OF_GPUTRACE, event->process, event->start);
    if (!space)
        return -1;
    if (failed || memory->address == FIELD_ABSENT)
        return 0;
    if (allocation)
        return is_size(event->bytes) ? allocate(heap, space, &id, (uint64_t)memory->address, event->start, outside) : 0;
    release_memory(heap, space, (uint64_t)memory->address, event->start, outside);
    return 0;
}

/* --- PyTorch's --- */

static struct heap_group_id pytorch_id(event_id process, int64_t device, int64_t type, int64_t size)
{
    return (struct heap_group_id){.source = HEAP_OF_PYTORCH,
                                  .process = process,
                                  .device = device < 0 ? FIELD_ABSENT : device,
                                  .kind = (uint64_t)type,
                                  .size = size,
                                  .stack = FIELD_ABSENT};
}

static int pytorch_event(struct heap *heap, const struct event_fields *event)
{
    const struct memory_fields *memory = event_memory(event);
    struct heap_group_id id = pytorch_id(event->process, event->device, memory->device_type, event->bytes);
    bool outside = event->phase == HEAP_OUTSIDE;
    if (starts_with(heap, event->name, HEAP_PYTORCH_FAILURE))
        return outside ? 0 : fail(heap, event, &id, memory->total_allocated);
    if (memory->address == FIELD_ABSENT || event->bytes == FIELD_ABSENT)
        return 0;
    return ADD(array_push, &heap->steps,
               (struct heap_step){.time = event->start,
                                  .bytes = event->bytes,
                                  .device = id.device,
                                  .type = memory->device_type,
                                  .total = memory->total_allocated,
                                  .address = (uint64_t)memory->address,
                                  .process = event->process,
                                  .order = heap->steps.count,
                                  .outside = outside})
               ? 0
               : -1;
}

ORDER_BY(by_time, struct heap_step, time, order)

/* Returns the group of the bytes that a place had before the trace. Returns NULL without memory. */
static struct heap_group *group_before(struct heap *heap, const struct heap_step *step)
{
    struct heap_group_id id = pytorch_id(step->process, step->device, step->type, 1);
    id.stack = HEAP_BEFORE;
    return group_of(heap, &id);
}

static int apply_step(struct heap *heap, const struct heap_step *step)
{
    struct heap_group_id id = pytorch_id(step->process, step->device, step->type, step->bytes);
    size_t places = heap->places.count;
    struct heap_group *before = group_before(heap, step);
    int64_t bytes;
    /* The first step of a place shows how much was allocated before the trace. It is added before space_at(), so that
     * the snapshot includes it. */
    if (before && heap->places.count > places && step->total != FIELD_ABSENT && step->total >= 0 &&
        !__builtin_sub_overflow(step->total, step->bytes, &bytes) && is_size(bytes))
        change(heap, before, bytes, 1, step->time);
    struct heap_space *space = before ? space_at(heap, HEAP_OF_PYTORCH, step->process, step->time) : NULL;
    if (!space)
        return -1;
    if (step->bytes > 0)
        return is_size(step->bytes) ? allocate(heap, space, &id, step->address, step->time, step->outside) : 0;
    if (!release_memory(heap, space, step->address, step->time, step->outside)) {
        before = group_before(heap, step);
        if (before)
            change(heap, before, step->bytes < -before->live ? -before->live : step->bytes, 1, step->time);
        return before ? 0 : -1;
    }
    return 0;
}

bool heap_is_pytorch(const struct interner *strings, const struct event_fields *event)
{
    if (event->category != CATEGORY_CPU_INSTANT_EVENT || event->name == EVENT_NO_TEXT)
        return false;
    const char *name = interned(strings, event->name);
    return strcmp(name, PYTORCH_MEMORY) == 0 || strcmp(name, HEAP_PYTORCH_FAILURE) == 0;
}

/* --- */

int heap_event(struct heap *heap, const struct event_fields *event)
{
    if (event->category == CATEGORY_MEMORY)
        return own_event(heap, event);
    return heap_is_pytorch(heap->strings, event) ? pytorch_event(heap, event) : 0;
}

ORDER_BY(by_failure, struct heap_failure, time)

int heap_finish(struct heap *heap)
{
    if (heap->failures.count > 1)
        qsort(heap->failures.items, heap->failures.count, sizeof(*heap->failures.items), by_failure);
    if (heap->steps.count > 1)
        qsort(heap->steps.items, heap->steps.count, sizeof(*heap->steps.items), by_time);
    for (size_t i = 0; i < heap->steps.count; i++)
        if (apply_step(heap, &heap->steps.items[i]) < 0)
            return -1;
    array_release(&heap->steps);
    for (size_t i = 0; i < heap->places.count; i++)
        if (heap->places.items[i].unseen)
            update_peak(heap, &heap->places.items[i], INT64_MAX);
    for (size_t i = 0; i < heap->spaces.count && heap->asked_at != FIELD_ABSENT; i++)
        if (!heap->spaces.items[i].passed && pass(heap, &heap->spaces.items[i]) < 0)
            return -1;
    return 0;
}
