#include "trace/build/cpu.h"

#include <string.h>

#include "common/log.h"
#include "common/spool_records.h"
#include "trace/build/cpu_scope.h"
#include "trace/build/event_passes.h"
#include "trace/build/piece_writer.h"
#include "trace/build/stacks.h"

void cpu_stacks_release(struct cpu_stacks *stacks)
{
    array_release(&stacks->items);
    array_release(&stacks->uses);
}

/* --- index --- */

static int use_stack(struct process *process, uint32_t number)
{
    const struct recorded_stack *stack = stacks_get(process->stacks, number);
    if (!stack)
        return 0;
    size_t index = (size_t)(stack - process->stacks->items.items);
    while (process->cpu_stacks->uses.count <= index)
        if (!array_push(&process->cpu_stacks->uses))
            return error_no_memory("call stacks");
    process->cpu_stacks->uses.items[index]++;
    return 0;
}

/* Of what is shown, its part PART. */
static int index_part(struct process *process, const struct event *part, enum track_kind kind)
{
    if (!process_index_span(process, part))
        return 0;
    return process_thread(process, kind, part->thread) ? use_stack(process, part->cpu.stack) : -1;
}

static int index_shown(struct process *process, const struct event *event, enum track_kind kind)
{
    struct cpu_stretch stretch = {0};
    int result = 0;
    if (cpu_scope_is_own(process, event->thread))
        return 0;
    if (event->end < event->start)
        return index_part(process, event, kind);
    while (result == 0 && cpu_scope_next(process, event, &stretch)) {
        struct event part = *event;
        part.start = stretch.start;
        part.end = stretch.end;
        result = index_part(process, &part, kind);
    }
    return result;
}

int index_cpu_sample(struct process *process, const struct event *event)
{
    return index_shown(process, event, TRACK_THREAD);
}

int index_thread_state(struct process *process, const struct event *event)
{
    return index_shown(process, event, TRACK_THREAD_STATE);
}

/* --- stacks --- */

/* What stacks that are one have in common, after its hash over the callers. Texts are the namer's, each once. */
struct innermost {
    uintptr_t function, file;
    uint64_t line, address, callers;
};

static uint64_t key_of(const struct recorded_stack *stack, const struct stack_frame *frame)
{
    size_t callers = (size_t)(stack->count - 1) * sizeof(uint64_t);
    struct innermost key = {.function = (uintptr_t)frame->function,
                            .file = (uintptr_t)frame->file,
                            .line = frame->line,
                            .address = frame->function ? 0 : frame->address,
                            .callers = hash_bytes(stack->words + sizeof(uint64_t), callers)};
    return hash_bytes(&key, sizeof(key));
}

static int resolve_stack(struct process *process, struct map *known, const struct recorded_stack *stack, uint32_t uses,
                         struct cpu_stack *resolved)
{
    struct stack_frame frame;
    if (stack->count == 0)
        return 0;
    if (stack_innermost(process->conversion, process, stack, &frame) != 0)
        return -1;
    const char *function = frame.function ? frame.function : "?";
    resolved->name = names_put(&process->conversion->names, function, strlen(function));
    if (resolved->name == NAMES_NO_MEMORY)
        return -1;
    uint64_t *first = map_put(known, key_of(stack, &frame), NULL);
    if (!first)
        return error_no_memory("call stacks");
    if (*first == 0)
        *first = stack->number;
    resolved->same_as = (uint32_t)*first;
    return stacks_use(process->stacks, resolved->same_as, uses);
}

int resolve_cpu_stacks(struct process *process)
{
    struct map known = {0};
    int result = 0;
    size_t count = process->file.header.by_launcher ? process->stacks->items.count : 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        struct cpu_stack *resolved = array_push(&process->cpu_stacks->items);
        uint32_t uses = i < process->cpu_stacks->uses.count ? process->cpu_stacks->uses.items[i] : 0;
        if (!resolved)
            result = error_no_memory("call stacks");
        else if (uses > 0)
            result = resolve_stack(process, &known, &process->stacks->items.items[i], uses, resolved);
    }
    map_release(&known);
    return result;
}

/* NULL: it is not known. */
static const struct cpu_stack *find_stack(const struct process *process, uint32_t number)
{
    const struct recorded_stack *stack = stacks_get(process->stacks, number);
    size_t index = stack ? (size_t)(stack - process->stacks->items.items) : SIZE_MAX;
    return index < process->cpu_stacks->items.count && stack->count > 0 ? &process->cpu_stacks->items.items[index]
                                                                        : NULL;
}

/* --- write --- */

int write_cpu_sample(struct piece_writer *out, struct process *process, const struct event *event)
{
    struct track *track = piece_writer_track(out, process, TRACK_THREAD, 0, 0, event->thread);
    const struct cpu_stack *stack = find_stack(process, event->cpu.stack);
    struct cpu_stretch stretch = {0};
    struct args args;
    args.count = 0;
    if (!track || !process_knows_span(process, event) || cpu_scope_is_own(process, event->thread) ||
        !cpu_scope_next(process, event, &stretch))
        return 0;
    if (stack)
        args_stack(&args, process, stack->same_as);
    struct slice sample = {.category = CATEGORY_CPU_SAMPLE,
                           .name = stack ? *names_get(&process->conversion->names, stack->name) : name_plain("?"),
                           .row = {track->pid, track->tids[0]},
                           .start = event->start,
                           .args = &args};
    out->sink.format->instant(&out->sink, &sample);
    return 0;
}

int write_thread_state(struct piece_writer *out, struct process *process, const struct event *event)
{
    static const char *const names[SPOOL_THREAD_STATE_COUNT] = {[SPOOL_THREAD_UNKNOWN] = "Off CPU",
#define STATE(name, text) [SPOOL_THREAD_##name] = text,
                                                                SPOOL_THREAD_STATES(STATE)
#undef STATE
    };
    struct track *track = piece_writer_track(out, process, TRACK_THREAD_STATE, 0, 0, event->thread);
    const struct cpu_stack *stack = find_stack(process, event->cpu.stack);
    struct args args;
    args.count = 0;
    struct cpu_stretch stretch = {0};
    if (!track || !process_knows_span(process, event) || cpu_scope_is_own(process, event->thread))
        return 0;
    if (stack)
        args_stack(&args, process, stack->same_as);
    if (event->cpu.waker != 0)
        args_u64(&args, ARG_WAKER, event->cpu.waker);
    args_u64(&args, ARG_THREAD, event->thread);
    unsigned state = event->cpu.state < SPOOL_THREAD_STATE_COUNT ? event->cpu.state : SPOOL_THREAD_UNKNOWN;
    struct slice slice = {.category = CATEGORY_THREAD_STATE,
                          .name = name_plain(names[state]),
                          .row = {track->pid, track->tids[0]},
                          .args = &args};
    while (cpu_scope_next(process, event, &stretch)) {
        slice.start = stretch.start;
        slice.end = stretch.end;
        out->sink.format->slice(&out->sink, &slice);
    }
    return 0;
}

/* --- rows --- */

bool cpu_row_is_named(const struct conversion *conversion, const struct process *process, const struct track *track)
{
    const struct process *image = conversion_latest_image(conversion, process);
    if (!process->file.header.by_launcher || !image || image == process || image->file.header.by_launcher)
        return false;
    return !track || tracks_get(&image->tracks, track->kind, track->device, track->context, track->number);
}
