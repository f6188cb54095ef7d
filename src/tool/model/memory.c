#include "tool/model/memory.h"

#include <stdlib.h>

#include "base/log.h"
#include "wire/spool.h"

void memory_release(struct memory *memory)
{
    array_release(&memory->steps);
    map_release(&memory->live);
    array_release(&memory->allocations);
    array_release(&memory->levels);
}

int memory_collect(struct memory *memory, const struct event *event)
{
    struct memory_step *step = array_push(&memory->steps);
    if (!step)
        return error_no_memory("allocations");
    *step = (struct memory_step){
        .time = event->start, .order = memory->steps.count, .record = event->record, .thread = event->thread};
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct memory_step *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

void memory_sort(struct memory *memory)
{
    if (memory->steps.count > 1)
        qsort(memory->steps.items, memory->steps.count, sizeof(*memory->steps.items), by_time);
}

static struct memory_level *level_of(struct memory *memory, uint32_t device, uint16_t kind)
{
    for (size_t i = 0; i < memory->levels.count; i++)
        if (memory->levels.items[i].device == device && memory->levels.items[i].kind == kind)
            return &memory->levels.items[i];
    struct memory_level *level = array_push(&memory->levels);
    if (!level) {
        error_no_memory("allocations");
        return NULL;
    }
    *level = (struct memory_level){.device = device, .kind = kind};
    return level;
}

static void lower(struct memory *memory, const struct allocation *allocation)
{
    struct memory_level *level = level_of(memory, allocation->device, allocation->kind); /* exists */
    if (!level)
        return;
    level->bytes -= allocation->size < level->bytes ? allocation->size : level->bytes;
    level->changed = true;
}

static uint32_t new_entry(struct memory *memory)
{
    if (memory->free != 0) {
        uint32_t index = memory->free;
        memory->free = memory->allocations.items[index - 1].next;
        return index;
    }
    return array_push(&memory->allocations) ? (uint32_t)memory->allocations.count : 0;
}

static int allocate(struct memory *memory, const struct event *event, const struct allocation *about)
{
    struct memory_level *level = level_of(memory, about->device, about->kind);
    uint32_t index = level ? new_entry(memory) : 0;
    uint64_t *oldest = index ? map_put(&memory->live, event->memory.address, NULL) : NULL;
    if (!oldest)
        return error_no_memory("allocations");
    struct allocation *entries = memory->allocations.items;
    entries[index - 1] = *about;
    if (*oldest == 0)
        *oldest = index;
    else
        entries[entries[*oldest - 1].youngest - 1].next = index;
    entries[*oldest - 1].youngest = index;
    level->bytes += about->size;
    level->changed = true;
    return 0;
}

static void remove_oldest(struct memory *memory, uint64_t address, uint64_t *oldest)
{
    uint32_t index = (uint32_t)*oldest;
    struct allocation *entry = &memory->allocations.items[index - 1];
    if (entry->next != 0) {
        memory->allocations.items[entry->next - 1].youngest = entry->youngest;
        *oldest = entry->next;
    } else {
        map_remove(&memory->live, address);
    }
    *entry = (struct allocation){.next = memory->free};
    memory->free = index;
}

static void give_back(struct memory *memory, const struct event *event, struct allocation *about)
{
    uint64_t *oldest = map_get(&memory->live, event->memory.address);
    about->live = oldest != NULL;
    if (!oldest)
        return;
    const struct allocation *entry = &memory->allocations.items[*oldest - 1];
    about->size = entry->size;
    about->kind = entry->kind;
    about->device = entry->device;
    if (event->memory.result != 0)
        return;
    lower(memory, about);
    remove_oldest(memory, event->memory.address, oldest);
}

int memory_apply(struct memory *memory, const struct event *event, struct allocation *about)
{
    *about = (struct allocation){.size = event->memory.size,
                                 .device = event->device,
                                 .context = event->context,
                                 .kind = event->memory.kind,
                                 .live = true};
    if (event->memory.operation == SPOOL_MEMORY_RELEASE) {
        give_back(memory, event, about);
        return 0;
    }
    if (event->memory.operation != SPOOL_MEMORY_ALLOCATE || event->memory.result != 0)
        return 0;
    return allocate(memory, event, about);
}

struct ending {
    struct memory *memory;
    uint32_t context;
    ARRAY(uint64_t) addresses;
};

/* Addresses whose oldest allocation is the context's; the map may not change while it is walked. */
static int note_address(void *context, uint64_t address, uint64_t *oldest)
{
    struct ending *ending = context;
    const struct allocation *entry = &ending->memory->allocations.items[*oldest - 1];
    if (entry->context != ending->context || entry->device == EVENT_NO_DEVICE)
        return 0;
    uint64_t *noted = array_push(&ending->addresses);
    if (!noted)
        return -1;
    *noted = address;
    return 0;
}

void memory_end_context(struct memory *memory, uint32_t context)
{
    struct ending ending = {.memory = memory, .context = context};
    if (map_each(&memory->live, note_address, &ending) != 0)
        warning("no memory to release the allocations of context %u: memory in use stays too high", context);
    for (size_t i = 0; i < ending.addresses.count; i++) {
        uint64_t *oldest = map_get(&memory->live, ending.addresses.items[i]);
        struct allocation gone = memory->allocations.items[*oldest - 1];
        lower(memory, &gone);
        remove_oldest(memory, ending.addresses.items[i], oldest);
    }
    array_release(&ending.addresses);
}
