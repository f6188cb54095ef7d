/*
 * Allocations and releases as instants on their threads, and memory in use as counters.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "trace/build/conversion.h"
#include "trace/build/emitter.h"
#include "trace/spool/error_names.h"
#include "common/spool_records.h"

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

static void emit_levels(struct emitter *emitter, struct process *process, uint64_t time)
{
    for (size_t i = 0; i < process->memory.levels.count; i++) {
        struct memory_level *level = &process->memory.levels.items[i];
        struct counter counter = {.pid = process->pid, .time = time, .bytes = level->bytes};
        char name[64];
        if (!level->changed)
            continue;
        level->changed = false;
        if (level->device != EVENT_NO_DEVICE &&
            process_gpu_pid(emitter->conversion, process, level->device, &counter.pid) != 0)
            continue;
        snprintf(name, sizeof(name), "Memory in use: %s", kind_text(level->kind));
        counter.name = name_plain(name);
        emitter->writer.format->counter(&emitter->writer, &counter);
    }
}

static void describe(struct args *args, uint64_t address, const struct allocation *about)
{
    const char *kind = kind_text(about->kind);
    args_add(args, ARG_ADDRESS, ARG_TYPE_HEX)->u64 = address;
    if (about->live)
        args_u64(args, ARG_BYTES, about->size);
    args_text(args, ARG_KIND, kind, strlen(kind));
    if (about->device != EVENT_NO_DEVICE)
        args_u64(args, ARG_DEVICE, about->device);
}

static void describe_call(struct args *args, const struct process *process, const struct event *event,
                          const struct allocation *about)
{
    const struct recorded_stack *stack = stacks_get(&process->stacks, event->memory.stack);
    const char *fault = fault_text(about->fault);
    if (event->stream != EVENT_NO_STREAM)
        args_u64(args, ARG_STREAM, event->stream);
    if (event->correlation != 0)
        args_u64(args, ARG_CORRELATION, process_correlation(process, event->correlation));
    if (event->memory.pool != 0)
        args_add(args, ARG_POOL, ARG_TYPE_HEX)->u64 = event->memory.pool;
    if (event->memory.result != 0)
        args_error(args, ARG_RESULT, event->memory.result, driver_error_name(event->memory.result));
    if (about->fault != MEMORY_NO_FAULT)
        args_text(args, ARG_FAULT, fault, strlen(fault));
    if (stack && stack->told)
        args_u64(args, ARG_STACK, stack_in_trace(process, stack->number));
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
        uint64_t bytes = memory_held(&process->memory, device, kind);
        if (bytes == 0)
            continue;
        int length = snprintf(held->text + held->length, sizeof(held->text) - held->length, "%s%s %" PRIu64,
                              held->length ? ", " : "", kind_text(kind), bytes);
        held->length += (size_t)length;
    }
    args_u64(args, ARG_HELD, memory_held(&process->memory, device, SPOOL_MEMORY_UNKNOWN));
    if (held->length > 0)
        args_text(args, ARG_HELD_BY_KIND, held->text, held->length);
}

static void emit_instant(struct emitter *emitter, struct process *process, const struct event *event, const char *name,
                         const struct args *args)
{
    const struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, event->thread);
    if (!thread)
        return;
    struct slice slice = {.category = CATEGORY_MEMORY,
                          .name = name_plain(name),
                          .row = {thread->pid, thread->tids[0]},
                          .start = event->start,
                          .args = args};
    emitter->writer.format->instant(&emitter->writer, &slice);
}

static void emit_operation(struct emitter *emitter, struct process *process, const struct event *event,
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
    emit_instant(emitter, process, event, name, &args);
}

/* --- the end of a context --- */

struct context_end {
    struct emitter *emitter;
    struct process *process;
    const struct event *event;
};

static void emit_gone(void *data, uint64_t address, const struct allocation *about)
{
    static const char ending[] = "context destroyed";
    const struct context_end *end = data;
    struct args args = {0};
    char name[64];
    if (!windows_hold(&end->process->windows, end->event->start))
        return;
    describe(&args, address, about);
    args_text(&args, ARG_ENDING, ending, sizeof(ending) - 1);
    snprintf(name, sizeof(name), "Release %s", kind_text(about->kind));
    emit_instant(end->emitter, end->process, end->event, name, &args);
}

static int emit_context_end(struct emitter *emitter, struct process *process, const struct event *event)
{
    struct context_end end = {emitter, process, event};
    return memory_end_context(&process->memory, event->context, emit_gone, &end);
}

/* --- */

static int emit_call(struct emitter *emitter, struct process *process, const struct event *event)
{
    struct allocation about;
    if (memory_apply(&process->memory, event, &about) != 0)
        return -1;
    if (windows_hold(&process->windows, event->start) && !memory_was_tried_again(&process->memory, event))
        emit_operation(emitter, process, event, &about);
    return 0;
}

static int emit_step(struct emitter *emitter, struct process *process, const struct memory_step *step)
{
    struct event event = memory_event(step);
    int result =
        event.type == EVENT_CONTEXT ? emit_context_end(emitter, process, &event) : emit_call(emitter, process, &event);
    if (result != 0)
        return -1;
    if (process_knows_time(process, event.start) && windows_hold(&process->windows, event.start))
        emit_levels(emitter, process, event.start);
    return 0;
}

int emit_memory(struct emitter *emitter, struct process *process)
{
    for (size_t i = 0; i < process->memory.steps.count; i++) {
        if (emit_step(emitter, process, &process->memory.steps.items[i]) != 0)
            return -1;
        emitter_passed(emitter, process);
    }
    return 0;
}
