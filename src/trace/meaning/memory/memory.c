/*
 * Collects the steps of memory, sorts them by time, and writes each as an instant, with a counter where a level
 * changed.
 */
#include "trace/meaning/memory/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/lookup.h"
#include "common/spool_records.h"
#include "trace/meaning/base/capture_intervals.h"
#include "trace/meaning/base/event_functions.h"
#include "trace/meaning/base/piece_writer.h"
#include "trace/meaning/base/stack_tree.h"
#include "trace/meaning/base/stacks.h"
#include "trace/meaning/launches/launches.h"
#include "trace/spool/cuda_names.h"

void memory_release(struct memory *memory)
{
    file_vector_release(&memory->steps);
    map_release(&memory->failed);
    allocations_release(&memory->allocations);
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

int memory_collect(struct memory *memory, const struct event *event)
{
    bool noted = !is_allocation(event) || note_attempt(memory, event) == 0;
    struct memory_step *step = noted ? file_vector_push(&memory->steps) : NULL;
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

ORDER_BY(by_time, struct memory_step, time, order)

int memory_sort(struct memory *memory)
{
    return file_vector_sort(&memory->steps, by_time) == 0 ? 0 : error_no_memory("allocations");
}

/*
 * Allocations and releases as instants on their threads, and memory in use as counters.
 */

static const char *kind_text(uint16_t kind)
{
    static const char *const texts[SPOOL_MEMORY_KIND_COUNT] = {[SPOOL_MEMORY_UNKNOWN] = "Unknown",
#define KIND(name, text) [SPOOL_MEMORY_##name] = text,
                                                               SPOOL_MEMORY_KINDS(KIND)
#undef KIND
    };
    return texts[kind < SPOOL_MEMORY_KIND_COUNT ? kind : (uint16_t)SPOOL_MEMORY_UNKNOWN];
}

static const char *fault_text(uint8_t fault)
{
    static const char *const texts[MEMORY_FAULT_COUNT] = {
#define FAULT(name, text) [MEMORY_##name] = text,
        MEMORY_FAULTS(FAULT)
#undef FAULT
    };
    return texts[fault];
}

static void write_levels(struct piece_writer *out, struct process *process, uint64_t time)
{
    for (size_t i = 0; i < process->memory->allocations.levels.count; i++) {
        struct allocation_level *level = &process->memory->allocations.levels.items[i];
        struct counter counter = {.pid = process->pid, .time = time, .bytes = level->bytes};
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

static void describe_call(struct args *args, const struct process *process, const struct event *event,
                          const struct allocation *about)
{
    if (event->stream != EVENT_NO_STREAM)
        args_u64(args, ARG_STREAM, event->stream);
    if (event->correlation != 0)
        args_u64(args, ARG_CORRELATION, process_correlation(process, event->correlation));
    if (event->memory.pool != 0)
        args_add(args, ARG_POOL, ARG_TYPE_HEX)->u64 = event->memory.pool;
    if (event->memory.result != 0)
        args_error(args, ARG_RESULT, event->memory.result, driver_error_name(event->memory.result));
    if (about->fault != MEMORY_NO_FAULT)
        args_words(args, ARG_FAULT, fault_text(about->fault));
    args_stack(args, process, event->memory.stack);
}

/* "Device 1048576, Pool 4096": what was held where an allocation failed. */
struct held {
    char text[SPOOL_MEMORY_KIND_COUNT * 40];
    size_t length;
};

static void describe_held(struct args *args, const struct process *process, uint32_t device, struct held *held)
{
    held->length = 0;
    for (uint16_t kind = SPOOL_MEMORY_UNKNOWN + 1; kind < SPOOL_MEMORY_KIND_COUNT; kind++) {
        uint64_t bytes = allocations_held(&process->memory->allocations, device, kind);
        if (bytes == 0)
            continue;
        int length = snprintf(held->text + held->length, sizeof(held->text) - held->length, "%s%s %" PRIu64,
                              held->length ? ", " : "", kind_text(kind), bytes);
        held->length += (size_t)length;
    }
    args_u64(args, ARG_HELD, allocations_held(&process->memory->allocations, device, SPOOL_MEMORY_UNKNOWN));
    if (held->length > 0)
        args_text(args, ARG_HELD_BY_KIND, held->text, held->length);
}

static void write_instant(struct piece_writer *out, struct process *process, const struct event *event,
                          const char *name, const struct args *args)
{
    const struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, event->thread);
    if (thread)
        piece_writer_instant(out, CATEGORY_MEMORY, name_plain(name), thread, event->start, args);
}

static void write_operation(struct piece_writer *out, struct process *process, const struct event *event,
                            const struct allocation *about)
{
    bool release = event->memory.operation == SPOOL_MEMORY_RELEASE, failed = event->memory.result != 0;
    struct args args = {0};
    struct held held;
    char name[64];
    describe(&args, event->memory.address, about);
    describe_call(&args, process, event, about);
    if (failed && !release)
        describe_held(&args, process, about->device, &held);
    snprintf(name, sizeof(name), "%s %s%s", release ? "Release" : "Allocate", kind_text(about->kind),
             failed ? " failed" : "");
    write_instant(out, process, event, name, &args);
}

/* --- the end of a context --- */

struct context_end {
    struct piece_writer *out;
    struct process *process;
    const struct event *event;
};

static void write_gone(void *data, uint64_t address, const struct allocation *about)
{
    const struct context_end *end = data;
    struct args args = {0};
    char name[64];
    if (!capture_intervals_hold(end->process->capture_intervals, end->event->start))
        return;
    describe(&args, address, about);
    args_words(&args, ARG_ENDING, "context destroyed");
    snprintf(name, sizeof(name), "Release %s", kind_text(about->kind));
    write_instant(end->out, end->process, end->event, name, &args);
}

/* --- */

static int write_call(struct piece_writer *out, struct process *process, const struct event *event)
{
    struct allocation about;
    if (allocations_apply(&process->memory->allocations, event, &about) != 0)
        return -1;
    if (capture_intervals_hold(process->capture_intervals, event->start) &&
        !memory_was_tried_again(process->memory, event))
        write_operation(out, process, event, &about);
    return 0;
}

static int write_step(struct piece_writer *out, struct process *process, const struct memory_step *step)
{
    struct event event = memory_event(step);
    struct context_end end = {out, process, &event};
    int result = event.type == EVENT_CONTEXT
                     ? allocations_end_context(&process->memory->allocations, event.context, write_gone, &end)
                     : write_call(out, process, &event);
    if (result != 0)
        return -1;
    if (process_knows_time(process, event.start) && capture_intervals_hold(process->capture_intervals, event.start))
        write_levels(out, process, event.start);
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

/* --- index pass --- */

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
