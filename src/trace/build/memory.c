#include "trace/build/memory.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/spool_records.h"

void memory_release(struct memory *memory)
{
    big_array_release(&memory->steps);
    map_release(&memory->failed);
    map_release(&memory->live);
    map_release(&memory->gone);
    map_release(&memory->before);
    array_release(&memory->allocations);
    array_release(&memory->levels);
}

enum { ATTEMPT_FAILED = 1, ATTEMPT_MADE_UP_FOR = 2 };

static bool is_allocation(const struct event *event)
{
    return event->type == EVENT_MEMORY && event->memory.operation == SPOOL_MEMORY_ALLOCATE && event->correlation != 0;
}

static int note_attempt(struct memory *memory, const struct event *event)
{
    bool failed = event->memory.result != 0;
    uint64_t *attempt =
        failed ? map_put(&memory->failed, event->correlation, NULL) : map_get(&memory->failed, event->correlation);
    if (attempt)
        *attempt = failed ? ATTEMPT_FAILED : ATTEMPT_MADE_UP_FOR;
    return failed && !attempt ? -1 : 0;
}

bool memory_was_tried_again(const struct memory *memory, const struct event *event)
{
    if (!is_allocation(event) || event->memory.result == 0)
        return false;
    const uint64_t *attempt = map_get(&memory->failed, event->correlation);
    return attempt && *attempt == ATTEMPT_MADE_UP_FOR;
}

static void collect_call(struct memory_step *step, const struct event *event)
{
    step->stream = event->stream;
    step->correlation = event->correlation;
    step->address = event->memory.address;
    step->size = event->memory.size;
    step->pool = event->memory.pool;
    step->result = event->memory.result;
    step->operation = event->memory.operation;
    step->kind = (uint8_t)event->memory.kind;
    step->stack = event->memory.stack;
}

int memory_collect(struct memory *memory, const struct event *event)
{
    bool noted = !is_allocation(event) || note_attempt(memory, event) == 0;
    struct memory_step *step = noted ? big_array_push(&memory->steps) : NULL;
    if (!step)
        return error_no_memory("allocations");
    *step = (struct memory_step){.time = event->start,
                                 .order = memory->steps.count,
                                 .device = event->device,
                                 .context = event->context,
                                 .thread = event->thread,
                                 .ends_context = event->type == EVENT_CONTEXT};
    if (!step->ends_context)
        collect_call(step, event);
    return 0;
}

struct event memory_event(const struct memory_step *step)
{
    struct event event = {.type = step->ends_context ? EVENT_CONTEXT : EVENT_MEMORY,
                          .start = step->time,
                          .end = step->time,
                          .device = step->device,
                          .context = step->context,
                          .stream = step->ends_context ? EVENT_NO_STREAM : step->stream,
                          .thread = step->thread,
                          .correlation = step->correlation};
    if (step->ends_context) {
        event.object.destroyed = true;
        return event;
    }
    event.memory.address = step->address;
    event.memory.size = step->size;
    event.memory.pool = step->pool;
    event.memory.result = step->result;
    event.memory.operation = step->operation;
    event.memory.kind = step->kind;
    event.memory.stack = step->stack;
    return event;
}

static int by_time(const void *a, const void *b)
{
    const struct memory_step *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

int memory_sort(struct memory *memory)
{
    return big_array_sort(&memory->steps, by_time) == 0 ? 0 : error_no_memory("allocations");
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

#define GONE_KIND_SHIFT 32 /* the device is below */

static int note_gone(struct memory *memory, uint64_t address, const struct allocation *about)
{
    if (memory->gone.count == MEMORY_GONE) {
        map_release(&memory->before);
        memory->before = memory->gone;
        memory->gone = (struct map){0};
    }
    uint64_t *gone = map_put(&memory->gone, address, NULL);
    if (!gone)
        return error_no_memory("allocations");
    *gone = (uint64_t)about->kind << GONE_KIND_SHIFT | about->device;
    return 0;
}

/* Gives 0, or -1 after error(). */
static int remove_oldest(struct memory *memory, uint64_t address, uint64_t *oldest)
{
    uint32_t index = (uint32_t)*oldest;
    struct allocation *entry = &memory->allocations.items[index - 1];
    if (entry->next != 0) {
        memory->allocations.items[entry->next - 1].youngest = entry->youngest;
        *oldest = entry->next;
    } else {
        map_remove(&memory->live, address);
    }
    int result = note_gone(memory, address, entry);
    *entry = (struct allocation){.next = memory->free};
    memory->free = index;
    return result;
}

static void find_fault(const struct memory *memory, const struct event *event, struct allocation *about)
{
    const uint64_t *gone = map_get(&memory->gone, event->memory.address);
    if (!gone)
        gone = map_get(&memory->before, event->memory.address);
    about->fault = gone ? MEMORY_FREED_TWICE : MEMORY_NEVER_ALLOCATED;
    if (!gone)
        return;
    about->kind = (uint16_t)(*gone >> GONE_KIND_SHIFT);
    about->device = (uint32_t)*gone;
}

static int give_back(struct memory *memory, const struct event *event, struct allocation *about)
{
    uint64_t *oldest = map_get(&memory->live, event->memory.address);
    about->live = oldest != NULL;
    if (!oldest) {
        find_fault(memory, event, about);
        return 0;
    }
    const struct allocation *entry = &memory->allocations.items[*oldest - 1];
    about->size = entry->size;
    about->kind = entry->kind;
    about->device = entry->device;
    if (event->memory.result != 0)
        return 0;
    lower(memory, about);
    return remove_oldest(memory, event->memory.address, oldest);
}

int memory_apply(struct memory *memory, const struct event *event, struct allocation *about)
{
    *about = (struct allocation){.size = event->memory.size,
                                 .device = event->device,
                                 .context = event->context,
                                 .kind = event->memory.kind,
                                 .live = true};
    if (event->memory.operation == SPOOL_MEMORY_RELEASE)
        return give_back(memory, event, about);
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
        return error_no_memory("allocations");
    *noted = address;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

int memory_end_context(struct memory *memory, uint32_t context,
                       void (*gone)(void *data, uint64_t address, const struct allocation *about), void *data)
{
    struct ending ending = {.memory = memory, .context = context};
    int result = map_each(&memory->live, note_address, &ending);
    if (ending.addresses.count > 1)
        qsort(ending.addresses.items, ending.addresses.count, sizeof(*ending.addresses.items), by_number);
    for (size_t i = 0; i < ending.addresses.count && result == 0; i++) {
        uint64_t address = ending.addresses.items[i], *oldest = map_get(&memory->live, address);
        struct allocation about = memory->allocations.items[*oldest - 1];
        lower(memory, &about);
        result = remove_oldest(memory, address, oldest);
        gone(data, address, &about);
    }
    array_release(&ending.addresses);
    return result;
}

uint64_t memory_held(const struct memory *memory, uint32_t device, uint16_t kind)
{
    uint64_t held = 0;
    for (size_t i = 0; i < memory->levels.count; i++) {
        const struct memory_level *level = &memory->levels.items[i];
        if (level->device == device && (kind == SPOOL_MEMORY_UNKNOWN || level->kind == kind))
            held += level->bytes;
    }
    return held;
}
