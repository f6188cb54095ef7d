#include "analysis/heap.h"

#include <stdlib.h>

struct heap_space_id {
    int64_t source;
    event_id process;
};

void heap_init(struct heap *heap, const struct interner *strings)
{
    *heap = (struct heap){.strings = strings, .asked_at = EVENT_NONE};
}

void heap_release(struct heap *heap)
{
    for (size_t i = 0; i < heap->spaces.count; i++)
        map_release(&heap->spaces.items[i].oldest);
    groups_release(&heap->group_ids);
    groups_release(&heap->place_ids);
    groups_release(&heap->space_ids);
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
    struct heap_place *of = groups_item(&heap->place_ids, &place, &heap->places);
    size_t before = heap->groups.count;
    struct heap_group *group = of ? groups_item(&heap->group_ids, id, &heap->groups) : NULL;
    if (group && heap->groups.count > before)
        group->place = (uint32_t)(of - heap->places.items);
    return group;
}

/* Changes how many of a group are live. What it was at its place's peak is kept when it changes for the first time
 * since, so that a peak costs nothing for all the groups that it is made of. */
static void change(struct heap *heap, struct heap_group *group, int64_t by, int64_t bytes, int64_t time)
{
    struct heap_place *place = &heap->places.items[group->place];
    if (group->epoch != place->epoch) {
        group->live_then = group->live;
        group->epoch = place->epoch;
    }
    group->live += by;
    place->bytes = (int64_t)((uint64_t)place->bytes + (uint64_t)(by * bytes)); /* a hostile file may go round */
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

static uint32_t new_live(struct heap *heap)
{
    if (heap->free == 0)
        return array_push(&heap->lives) ? (uint32_t)heap->lives.count : 0;
    uint32_t index = heap->free;
    heap->free = heap->lives.items[index - 1].next;
    return index;
}

int heap_allocate(struct heap *heap, struct heap_space *space, const struct heap_group_id *id, uint64_t address,
                  int64_t time)
{
    struct heap_group *group = group_of(heap, id);
    uint32_t index = group ? new_live(heap) : 0;
    uint64_t *place = index ? map_put(&space->oldest, address, NULL) : NULL;
    if (!place)
        return -1;
    struct heap_live *lives = heap->lives.items;
    uint32_t number = (uint32_t)(group - heap->groups.items);
    lives[index - 1] = (struct heap_live){.group = number, .address = address, .time = time, .used = true};
    uint32_t last = (uint32_t)*place;
    while (last != 0 && lives[last - 1].next != 0) /* almost never: given out again before its release was seen */
        last = lives[last - 1].next;
    if (last == 0)
        *place = index;
    else
        lives[last - 1].next = index;
    group->allocations++;
    change(heap, group, 1, id->size, time);
    return 0;
}

static void note_brief(struct heap_group *group, int64_t lived)
{
    if (lived < 0 || lived >= HEAP_BRIEF_NS)
        return;
    group->brief.shortest = group->brief.count == 0 || lived < group->brief.shortest ? lived : group->brief.shortest;
    group->brief.longest = lived > group->brief.longest ? lived : group->brief.longest;
    group->brief.time += lived;
    group->brief.count++;
}

void heap_give_back(struct heap *heap, struct heap_space *space, uint64_t address, int64_t time)
{
    uint64_t *place = map_get(&space->oldest, address);
    if (!place)
        return;
    uint32_t index = (uint32_t)*place;
    struct heap_live *live = &heap->lives.items[index - 1];
    struct heap_group *group = &heap->groups.items[live->group];
    note_brief(group, time - live->time);
    change(heap, group, -1, heap_group_id(heap, live->group)->size, time);
    if (live->next != 0)
        *place = live->next;
    else
        map_remove(&space->oldest, address);
    *live = (struct heap_live){.next = heap->free};
    heap->free = index;
}

/* --- what was live at the time asked about --- */

static int keep_live(void *context, uint64_t address, uint64_t *oldest)
{
    struct heap *heap = context;
    (void)address;
    for (uint32_t index = (uint32_t)*oldest; index != 0; index = heap->lives.items[index - 1].next) {
        struct heap_live *kept = array_push(&heap->then);
        if (!kept)
            return -1;
        *kept = heap->lives.items[index - 1];
    }
    return 0;
}

static int pass(struct heap *heap, struct heap_space *space)
{
    space->passed = true;
    return map_each(&space->oldest, keep_live, heap);
}

struct heap_space *heap_space_at(struct heap *heap, enum heap_source source, event_id process, int64_t time)
{
    struct heap_space_id id = {source, process};
    struct heap_space *space = groups_item(&heap->space_ids, &id, &heap->spaces);
    bool passes = space && heap->asked_at != EVENT_NONE && !space->passed && time > heap->asked_at;
    return passes && pass(heap, space) < 0 ? NULL : space;
}

int heap_pass_all(struct heap *heap)
{
    for (size_t i = 0; i < heap->spaces.count && heap->asked_at != EVENT_NONE; i++)
        if (!heap->spaces.items[i].passed && pass(heap, &heap->spaces.items[i]) < 0)
            return -1;
    return 0;
}
