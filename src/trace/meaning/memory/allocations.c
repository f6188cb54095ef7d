/*
 * Adds each allocation and subtracts each release, by address, and keeps the level of each kind of memory on each
 * device.
 */
#include "trace/meaning/memory/allocations.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/spool_records.h"
#include "trace/spool/event_record.h"

void allocations_release(struct allocations *allocations)
{
    map_release(&allocations->live);
    map_release(&allocations->gone);
    map_release(&allocations->before);
    array_release(&allocations->entries);
    array_release(&allocations->levels);
}

static struct allocation_level *level_of(struct allocations *allocations, uint32_t device, uint16_t kind)
{
    for (size_t i = 0; i < allocations->levels.count; i++)
        if (allocations->levels.items[i].device == device && allocations->levels.items[i].kind == kind)
            return &allocations->levels.items[i];
    struct allocation_level *level = array_push(&allocations->levels);
    if (!level) {
        error_no_memory("allocations");
        return NULL;
    }
    *level = (struct allocation_level){.device = device, .kind = kind};
    return level;
}

static void lower(struct allocations *allocations, const struct allocation *allocation)
{
    struct allocation_level *level = level_of(allocations, allocation->device, allocation->kind); /* exists */
    if (!level)
        return;
    level->bytes -= allocation->size < level->bytes ? allocation->size : level->bytes;
    level->changed = true;
}

static uint32_t new_entry(struct allocations *allocations)
{
    if (allocations->free != 0) {
        uint32_t index = allocations->free;
        allocations->free = allocations->entries.items[index - 1].next;
        return index;
    }
    return array_push(&allocations->entries) ? (uint32_t)allocations->entries.count : 0;
}

static int allocate(struct allocations *allocations, const struct event *event, const struct allocation *about)
{
    struct allocation_level *level = level_of(allocations, about->device, about->kind);
    uint32_t index = level ? new_entry(allocations) : 0;
    uint64_t *oldest = index ? map_put(&allocations->live, event->memory.address, NULL) : NULL;
    if (!oldest)
        return error_no_memory("allocations");
    struct allocation *entries = allocations->entries.items;
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

#define GONE_KIND_SHIFT 32 /* the device is below */

static int note_gone(struct allocations *allocations, uint64_t address, const struct allocation *about)
{
    if (map_count(&allocations->gone) == ALLOCATIONS_GONE) {
        map_release(&allocations->before);
        allocations->before = allocations->gone;
        allocations->gone = (struct map){0};
    }
    uint64_t gone = (uint64_t)about->kind << GONE_KIND_SHIFT | about->device;
    return map_set(&allocations->gone, address, gone) ? 0 : error_no_memory("allocations");
}

/* Returns 0, or -1 after error(). */
static int remove_oldest(struct allocations *allocations, uint64_t address, uint64_t *oldest)
{
    uint32_t index = (uint32_t)*oldest;
    struct allocation *entry = &allocations->entries.items[index - 1];
    if (entry->next != 0) {
        allocations->entries.items[entry->next - 1].youngest = entry->youngest;
        *oldest = entry->next;
    } else {
        map_remove(&allocations->live, address);
    }
    int result = note_gone(allocations, address, entry);
    *entry = (struct allocation){.next = allocations->free};
    allocations->free = index;
    return result;
}

static int give_back(struct allocations *allocations, const struct event *event, struct allocation *about)
{
    uint64_t *oldest = map_get(&allocations->live, event->memory.address);
    about->live = oldest != NULL;
    if (!oldest) {
        const uint64_t *gone = map_get(&allocations->gone, event->memory.address);
        if (!gone)
            gone = map_get(&allocations->before, event->memory.address);
        about->fault = gone ? MEMORY_FREED_TWICE : MEMORY_NEVER_ALLOCATED;
        about->kind = gone ? (uint16_t)(*gone >> GONE_KIND_SHIFT) : about->kind;
        about->device = gone ? (uint32_t)*gone : about->device;
        return 0;
    }
    const struct allocation *entry = &allocations->entries.items[*oldest - 1];
    about->size = entry->size;
    about->kind = entry->kind;
    about->device = entry->device;
    if (event->memory.result != 0)
        return 0;
    lower(allocations, about);
    return remove_oldest(allocations, event->memory.address, oldest);
}

int allocations_apply(struct allocations *allocations, const struct event *event, struct allocation *about)
{
    *about = (struct allocation){.size = event->memory.size,
                                 .device = event->device,
                                 .context = event->context,
                                 .kind = event->memory.kind,
                                 .live = true};
    if (event->memory.operation == SPOOL_MEMORY_RELEASE)
        return give_back(allocations, event, about);
    if (event->memory.operation != SPOOL_MEMORY_ALLOCATE || event->memory.result != 0)
        return 0;
    return allocate(allocations, event, about);
}

struct ending {
    struct allocations *allocations;
    uint32_t context;
    ARRAY(uint64_t) addresses;
};

/* Addresses whose oldest allocation is the context's; the map may not change while it is walked. */
static int note_address(void *context, uint64_t address, uint64_t *oldest)
{
    struct ending *ending = context;
    const struct allocation *entry = &ending->allocations->entries.items[*oldest - 1];
    if (entry->context != ending->context || entry->device == EVENT_NO_DEVICE)
        return 0;
    return ADD(array_push, &ending->addresses, address) ? 0 : error_no_memory("allocations");
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

int allocations_end_context(struct allocations *allocations, uint32_t context,
                            void (*gone)(void *data, uint64_t address, const struct allocation *about), void *data)
{
    struct ending ending = {.allocations = allocations, .context = context};
    int result = map_each(&allocations->live, note_address, &ending);
    if (ending.addresses.count > 1)
        qsort(ending.addresses.items, ending.addresses.count, sizeof(*ending.addresses.items), by_number);
    for (size_t i = 0; i < ending.addresses.count && result == 0; i++) {
        uint64_t address = ending.addresses.items[i], *oldest = map_get(&allocations->live, address);
        struct allocation about = allocations->entries.items[*oldest - 1];
        lower(allocations, &about);
        result = remove_oldest(allocations, address, oldest);
        gone(data, address, &about);
    }
    array_release(&ending.addresses);
    return result;
}

uint64_t allocations_held(const struct allocations *allocations, uint32_t device, uint16_t kind)
{
    uint64_t held = 0;
    for (size_t i = 0; i < allocations->levels.count; i++) {
        const struct allocation_level *level = &allocations->levels.items[i];
        if (level->device == device && (kind == SPOOL_MEMORY_UNKNOWN || level->kind == kind))
            held += level->bytes;
    }
    return held;
}
