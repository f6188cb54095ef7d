/*
 * Collects the steps of memory, sorts them by time, and writes each as an instant, with a counter where a level
 * changed. An account adds each allocation and subtracts each release, by address, and keeps the level of each kind of
 * memory on each device.
 */
#include "trace/meaning/memory/memory.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/log.h"
#include "trace/meaning/base/times.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/base/stacks.h"
#include "trace/meaning/launches/launches.h"
#include "trace/spool/cupti.h"

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
    struct allocation_level *level = level_of(allocations, allocation->device, allocation->kind); /* not a new one */
    if (!level)
        return;
    level->bytes -= allocation->size < level->bytes ? allocation->size : level->bytes;
    level->changed = true;
}

#define GONE_KIND_SHIFT 32 /* in allocations.gone: the kind is above the device */

/* Removes the oldest entry of ADDRESS from the account, and remembers the address. Returns 0, or -1 after error(). */
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
    if (map_count(&allocations->gone) == ALLOCATIONS_GONE) {
        map_release(&allocations->before);
        allocations->before = allocations->gone;
        allocations->gone = (struct map){0};
    }
    uint64_t gone = (uint64_t)entry->kind << GONE_KIND_SHIFT | entry->device;
    int result = map_set(&allocations->gone, address, gone) ? 0 : error_no_memory("allocations");
    *entry = (struct allocation){.next = allocations->free};
    allocations->free = index;
    return result;
}

static int release_allocation(struct allocations *allocations, const struct memory_step *step, struct allocation *about)
{
    uint64_t *oldest = map_get(&allocations->live, step->address);
    about->live = oldest != NULL;
    if (!oldest) {
        const uint64_t *gone = map_get(&allocations->gone, step->address);
        if (!gone)
            gone = map_get(&allocations->before, step->address);
        about->fault = gone ? MEMORY_FREED_TWICE : MEMORY_NEVER_ALLOCATED;
        about->kind = gone ? (uint16_t)(*gone >> GONE_KIND_SHIFT) : about->kind;
        about->device = gone ? (uint32_t)*gone : about->device;
        return 0;
    }
    const struct allocation *entry = &allocations->entries.items[*oldest - 1];
    about->size = entry->size;
    about->kind = entry->kind;
    about->device = entry->device;
    if (step->result != 0)
        return 0;
    lower(allocations, about);
    return remove_oldest(allocations, step->address, oldest);
}

int allocations_apply(struct allocations *allocations, const struct memory_step *step, struct allocation *about)
{
    *about = (struct allocation){
        .size = step->size, .device = step->device, .context = step->context, .kind = step->kind, .live = true};
    if (step->operation == SPOOL_MEMORY_RELEASE)
        return release_allocation(allocations, step, about);
    if (step->operation != SPOOL_MEMORY_ALLOCATE || step->result != 0)
        return 0;
    struct allocation_level *level = level_of(allocations, about->device, about->kind);
    uint32_t index = level ? allocations->free : 0;
    if (index != 0)
        allocations->free = allocations->entries.items[index - 1].next;
    else if (level && array_push(&allocations->entries))
        index = (uint32_t)allocations->entries.count;
    uint64_t *oldest = index ? map_put(&allocations->live, step->address, NULL) : NULL;
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

struct ending {
    struct allocations *allocations;
    uint32_t context;
    ARRAY(uint64_t) addresses;
};

/* Collects addresses whose oldest allocation is the context's: the map may not change while it is walked. */
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

/* Releases a destroyed context's memory on devices. Calls GONE for each allocation, in order of address. Returns 0, or
 * -1 after error(). */
static int allocations_end_context(struct allocations *allocations, uint32_t context,
                                   void (*gone)(void *data, uint64_t address, const struct allocation *about),
                                   void *data)
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

void memory_release(struct memory *memory)
{
    file_vector_release(&memory->steps);
    map_release(&memory->failed);
    allocations_release(&memory->allocations);
}

enum { ATTEMPT_FAILED = 1, ATTEMPT_MADE_UP_FOR = 2 };

static bool is_allocation(const struct memory_step *step)
{
    return !step->ends_context && step->operation == SPOOL_MEMORY_ALLOCATE && step->correlation != 0;
}

bool memory_was_tried_again(const struct memory *memory, const struct memory_step *step)
{
    if (!is_allocation(step) || step->result == 0)
        return false;
    const uint64_t *attempt = map_get(&memory->failed, step->correlation);
    return attempt && *attempt == ATTEMPT_MADE_UP_FOR;
}

int memory_collect(struct memory *memory, const struct event *event)
{
    struct memory_step *step = file_vector_push(&memory->steps);
    if (!step)
        return error_no_memory("allocations");
    *step = (struct memory_step){.time = event->start,
                                 .order = memory->steps.count,
                                 .device = event->device,
                                 .context = event->context,
                                 .thread = event->thread,
                                 .ends_context = event->type == EVENT_CONTEXT};
    if (step->ends_context)
        return 0;
    step->stream = event->stream;
    step->correlation = event->correlation;
    step->address = event->memory.address;
    step->size = event->memory.size;
    step->pool = event->memory.pool;
    step->result = event->memory.result;
    step->operation = event->memory.operation;
    step->kind = (uint8_t)event->memory.kind;
    step->stack = event->memory.stack;
    if (!is_allocation(step))
        return 0;
    bool failed = step->result != 0;
    uint64_t *attempt =
        failed ? map_put(&memory->failed, step->correlation, NULL) : map_get(&memory->failed, step->correlation);
    if (attempt)
        *attempt = failed ? ATTEMPT_FAILED : ATTEMPT_MADE_UP_FOR;
    return failed && !attempt ? error_no_memory("allocations") : 0;
}

ORDER_BY(by_time, struct memory_step, time, order)

int memory_sort(struct memory *memory)
{
    return file_vector_sort(&memory->steps, by_time) == 0 ? 0 : error_no_memory("allocations");
}

static const char *kind_text(uint16_t kind)
{
    static const char *const texts[SPOOL_MEMORY_KIND_COUNT] = {[SPOOL_MEMORY_UNKNOWN] = "Unknown",
#define KIND(name, text) [SPOOL_MEMORY_##name] = text,
                                                               SPOOL_MEMORY_KINDS(KIND)
#undef KIND
    };
    return texts[kind < SPOOL_MEMORY_KIND_COUNT ? kind : (uint16_t)SPOOL_MEMORY_UNKNOWN];
}

static void describe(struct args *args, uint64_t address, const struct allocation *about)
{
    args_add(args, ARG_ADDRESS, ARG_TYPE_HEX)->u64 = address;
    if (about->live)
        args_u64(args, ARG_BYTES, about->size);
    args_words(args, ARG_KIND, kind_text(about->kind));
    if (about->device != EVENT_NO_DEVICE)
        args_u64(args, ARG_DEVICE, about->device);
}

/* What was held when an allocation failed, as text: "Device 1048576, Pool 4096". */
struct held {
    char text[SPOOL_MEMORY_KIND_COUNT * 40];
    size_t length;
};

static void write_instant(struct piece_writer *out, struct process *process, const struct memory_step *step,
                          const char *name, const struct args *args)
{
    const struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, step->thread);
    if (thread)
        piece_writer_instant(out, CATEGORY_MEMORY, name_plain(name), thread, step->time, args);
}

static void write_operation(struct piece_writer *out, struct process *process, const struct memory_step *step,
                            const struct allocation *about)
{
    static const char *const faults[MEMORY_FAULT_COUNT] = {
#define FAULT(name, text) [MEMORY_##name] = text,
        MEMORY_FAULTS(FAULT)
#undef FAULT
    };
    bool release = step->operation == SPOOL_MEMORY_RELEASE, failed = step->result != 0;
    struct args args = {0};
    struct held held;
    char name[64];
    describe(&args, step->address, about);
    if (step->stream != EVENT_NO_STREAM)
        args_u64(&args, ARG_STREAM, step->stream);
    if (step->correlation != 0)
        args_u64(&args, ARG_CORRELATION, process_correlation(process, step->correlation));
    if (step->pool != 0)
        args_add(&args, ARG_POOL, ARG_TYPE_HEX)->u64 = step->pool;
    if (step->result != 0)
        args_error(&args, ARG_RESULT, step->result, driver_error_name(step->result));
    if (about->fault != MEMORY_NO_FAULT)
        args_words(&args, ARG_FAULT, faults[about->fault]);
    args_stack(&args, process, step->stack, ARG_CALLED_AT);
    if (failed && !release) {
        held.length = 0;
        for (uint16_t kind = SPOOL_MEMORY_UNKNOWN + 1; kind < SPOOL_MEMORY_KIND_COUNT; kind++) {
            uint64_t bytes = allocations_held(&process->memory->allocations, about->device, kind);
            if (bytes == 0)
                continue;
            int length = snprintf(held.text + held.length, sizeof(held.text) - held.length, "%s%s %" PRIu64,
                                  held.length ? ", " : "", kind_text(kind), bytes);
            held.length += (size_t)length;
        }
        args_u64(&args, ARG_HELD, allocations_held(&process->memory->allocations, about->device, SPOOL_MEMORY_UNKNOWN));
        if (held.length > 0)
            args_text(&args, ARG_HELD_BY_KIND, held.text, held.length);
    }
    snprintf(name, sizeof(name), "%s %s%s", release ? "Release" : "Allocate", kind_text(about->kind),
             failed ? " failed" : "");
    write_instant(out, process, step, name, &args);
}

struct context_end {
    struct piece_writer *out;
    struct process *process;
    const struct memory_step *step;
};

static void write_gone(void *data, uint64_t address, const struct allocation *about)
{
    const struct context_end *end = data;
    struct args args = {0};
    char name[64];
    if (!capture_intervals_hold(end->process->capture_intervals, end->step->time))
        return;
    describe(&args, address, about);
    args_words(&args, ARG_ENDING, "context destroyed");
    snprintf(name, sizeof(name), "Release %s", kind_text(about->kind));
    write_instant(end->out, end->process, end->step, name, &args);
}

static int write_step(struct piece_writer *out, struct process *process, const struct memory_step *step)
{
    struct memory *memory = process->memory;
    struct context_end end = {out, process, step};
    struct allocation about;
    bool is_shown = capture_intervals_hold(process->capture_intervals, step->time);
    if (step->ends_context) {
        if (allocations_end_context(&memory->allocations, step->context, write_gone, &end) != 0)
            return -1;
    } else {
        if (allocations_apply(&memory->allocations, step, &about) != 0)
            return -1;
        if (is_shown && !memory_was_tried_again(memory, step))
            write_operation(out, process, step, &about);
    }
    for (size_t i = 0; is_shown && process_knows_time(process, step->time) && i < memory->allocations.levels.count;
         i++) {
        struct allocation_level *level = &memory->allocations.levels.items[i];
        struct counter counter = {.pid = process->pid, .time = step->time, .bytes = level->bytes};
        char name[64];
        if (!level->changed)
            continue;
        level->changed = false;
        if (level->device != EVENT_NO_DEVICE && process_gpu_pid(process, level->device, &counter.pid) != 0)
            continue;
        snprintf(name, sizeof(name), "Memory in use: %s", kind_text(level->kind));
        counter.name = name_plain(name);
        out->sink.format->counter(&out->sink, &counter);
    }
    return 0;
}

int write_memory(struct piece_writer *out, struct process *process)
{
    for (size_t i = 0; i < process->memory->steps.count; i++) {
        if (write_step(out, process, &process->memory->steps.items[i]) != 0)
            return -1;
        piece_writer_passed(out, process);
    }
    return 0;
}

int index_memory(struct process *process, const struct event *event)
{
    uint32_t pid;
    if (!process_index_span(process, event))
        return 0;
    process->cuda = true;
    if (event->device != EVENT_NO_DEVICE && process_gpu_pid(process, event->device, &pid) != 0)
        return -1;
    if (!process_thread(process, TRACK_THREAD, event->thread))
        return -1;
    if (capture_intervals_hold(process->capture_intervals, event->start) &&
        stacks_use(process->stacks, event->memory.stack, 1) != 0)
        return -1;
    return memory_collect(process->memory, event);
}
