/*
 * Allocations and releases as instants on their threads, and memory in use as counters.
 */
#include <stdio.h>
#include <string.h>

#include "tool/convert/conversion.h"
#include "tool/decode/own.h"
#include "tool/spool/records.h"
#include "wire/spool.h"

static const char *kind_text(uint16_t kind)
{
    static const char *const texts[SPOOL_MEMORY_KIND_COUNT] = {[SPOOL_MEMORY_UNKNOWN] = "Unknown",
#define KIND(name, text) [SPOOL_MEMORY_##name] = text,
                                                               SPOOL_MEMORY_KINDS(KIND)
#undef KIND
    };
    return texts[kind < SPOOL_MEMORY_KIND_COUNT ? kind : (uint16_t)SPOOL_MEMORY_UNKNOWN];
}

static void emit_levels(struct conversion *conversion, struct process *process, uint64_t time)
{
    for (size_t i = 0; i < process->memory.levels.count; i++) {
        struct memory_level *level = &process->memory.levels.items[i];
        struct counter counter = {.pid = process->pid, .time = time, .bytes = level->bytes};
        char name[64];
        if (!level->changed)
            continue;
        level->changed = false;
        if (level->device != EVENT_NO_DEVICE && process_gpu_pid(conversion, process, level->device, &counter.pid) != 0)
            continue;
        snprintf(name, sizeof(name), "Memory in use: %s", kind_text(level->kind));
        counter.name = kept_name(conversion, name);
        conversion->writer.format->counter(&conversion->writer, &counter);
    }
}

static void describe(struct args *args, const struct process *process, const struct event *event,
                     const struct allocation *about)
{
    const char *kind = kind_text(about->kind);
    args_add(args, ARG_ADDRESS, ARG_TYPE_HEX)->u64 = event->memory.address;
    if (about->live)
        args_u64(args, ARG_BYTES, about->size);
    args_text(args, ARG_KIND, kind, strlen(kind));
    if (about->device != EVENT_NO_DEVICE)
        args_u64(args, ARG_DEVICE, about->device);
    if (event->stream != EVENT_NO_STREAM)
        args_u64(args, ARG_STREAM, event->stream);
    if (event->correlation != 0)
        args_u64(args, ARG_CORRELATION, process_correlation(process, event->correlation));
    if (event->memory.pool != 0)
        args_add(args, ARG_POOL, ARG_TYPE_HEX)->u64 = event->memory.pool;
    if (event->memory.result != 0)
        args_i64(args, ARG_RESULT, event->memory.result);
}

static void emit_operation(struct conversion *conversion, struct process *process, const struct event *event,
                           const struct allocation *about)
{
    const struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, event->thread);
    struct args args = {0};
    char name[64];
    if (!thread)
        return;
    describe(&args, process, event, about);
    snprintf(name, sizeof(name), "%s %s%s", event->memory.operation == SPOOL_MEMORY_RELEASE ? "Release" : "Allocate",
             kind_text(about->kind), event->memory.result != 0 ? " failed" : "");
    struct slice slice = {.category = CATEGORY_MEMORY,
                          .name = kept_name(conversion, name),
                          .row = {thread->pid, thread->tids[0]},
                          .start = event->start,
                          .args = &args};
    conversion->writer.format->instant(&conversion->writer, &slice);
}

static int emit_step(struct conversion *conversion, struct process *process, const struct memory_step *step)
{
    struct own_walk walk;
    struct event event;
    own_walk_at(&walk, step->record);
    own_decode(&event, &walk, step->thread);
    if (event.type == EVENT_CONTEXT) {
        memory_end_context(&process->memory, event.context);
    } else {
        struct allocation about;
        if (memory_apply(&process->memory, &event, &about) != 0)
            return -1;
        if (windows_hold(&process->windows, event.start))
            emit_operation(conversion, process, &event, &about);
    }
    if (process_knows_time(process, event.start) && windows_hold(&process->windows, event.start))
        emit_levels(conversion, process, event.start);
    return 0;
}

int emit_memory(struct conversion *conversion, struct process *process)
{
    for (size_t i = 0; i < process->memory.steps.count; i++)
        if (emit_step(conversion, process, &process->memory.steps.items[i]) != 0)
            return -1;
    return 0;
}
