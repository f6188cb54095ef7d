/* Decides when CPU samples and thread states are shown, names their stacks, and writes them. */
#include "trace/meaning/host/cpu.h"

#include "common/log.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/base/stacks.h"

/* --- when any process recorded --- */

/* From TIME on, one more (by = 1) or one less (-1) process records. */
struct turn {
    uint64_t time;
    int by;
};

struct turns {
    FILE_VECTOR(struct turn) items;
};

static int add_turn(struct turns *turns, uint64_t time, bool on)
{
    const struct turn turn = {time, on ? 1 : -1};
    return ADD(file_vector_push, &turns->items, turn) ? 0 : error_no_memory("capture intervals");
}

/* Adds the times when the process started and stopped to record. Before its first mark recording was as the mark says;
 * it stops when the process ends. */
static int add_turns(struct turns *turns, const struct process *process)
{
    const struct capture_intervals *intervals = process->capture_intervals;
    bool on = !intervals->limited || intervals->marks.items[0].on;
    int result = on ? add_turn(turns, 0, true) : 0;
    for (size_t i = 0; intervals->limited && i < intervals->marks.count && result == 0; i++) {
        const struct capture_mark *mark = &intervals->marks.items[i];
        if (mark->on != on)
            result = add_turn(turns, mark->time, mark->on);
        on = mark->on;
    }
    uint64_t finished = process->file.header.finished;
    return result == 0 && on && intervals->limited && finished != 0 ? add_turn(turns, finished, false) : result;
}

ORDER_BY(by_time, struct turn, time)

static int mark(struct capture_intervals *intervals, uint64_t time, bool on)
{
    const struct event event = {.start = time, .capture = {.on = on}};
    return capture_intervals_mark(intervals, &event);
}

static int join(struct turns *turns, struct capture_intervals *any)
{
    int64_t recording = 0;
    if (file_vector_sort(&turns->items, by_time) != 0)
        return error_no_memory("capture intervals");
    int result = mark(any, 0, false);
    for (size_t i = 0; i < turns->items.count && result == 0; i++) {
        const struct turn *turn = &turns->items.items[i];
        bool last = i + 1 == turns->items.count || turns->items.items[i + 1].time != turn->time;
        recording += turn->by;
        if (last && (recording > 0) != any->marks.items[any->marks.count - 1].on)
            result = mark(any, turn->time, recording > 0);
    }
    return result;
}

static int find_any(struct conversion *conversion)
{
    const char *directory = conversion->options->spool_directory;
    struct turns turns = {0};
    int result = 0;
    turns.items.memory.directory = conversion->cpu_scopes->any.marks.memory.directory = directory;
    for (size_t i = 0; i < conversion->processes.count && result == 0; i++) {
        const struct process *process = conversion_process(conversion, i);
        if (!process->file.header.by_launcher)
            result = add_turns(&turns, process);
    }
    result = result ?: join(&turns, &conversion->cpu_scopes->any);
    file_vector_release(&turns.items);
    return result;
}

/* --- which spool is of the same program --- */

ORDER_BY(by_key, struct cpu_scope_image, key, started)

/* Returns the agent's spool of the program that PROCESS, a launcher's file, is of; NULL if there is none. The agent
 * starts after the program that loads it: so the first spool from then on, or else the last one. */
static const struct process *find_image(const struct conversion *conversion, const struct process *process)
{
    const struct cpu_scopes *scopes = conversion->cpu_scopes;
    const struct cpu_scope_image wanted = {process_image_key(process), process->file.header.started, 0};
    const struct cpu_scope_image *images = scopes->images.items;
    size_t count = scopes->images.count, place = COUNT_BEFORE(count, i, by_key(&images[i], &wanted) < 0);
    if (place > 0 && (place == count || images[place].key != wanted.key))
        place--;
    if (place == count || images[place].key != wanted.key)
        return NULL;
    const struct process *image = conversion->processes.items[images[place].index];
    return is_same_process(&image->file.header, &process->file.header) ? image : NULL;
}

int cpu_scopes_find(struct conversion *conversion)
{
    struct cpu_scopes *scopes = conversion->cpu_scopes;
    if (conversion->by_launcher == 0)
        return 0;
    /* Whether recording was off at some time. If no process has the agent, nothing can begin a capture that the user
     * asked for. */
    const char *range = session_note_text(conversion->session, "capture_range");
    bool limited = conversion->processes.count == conversion->by_launcher && range && strcmp(range, "none") != 0;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct process *process = conversion_process(conversion, i);
        limited |= process->capture_intervals->limited;
        if (process->file.header.by_launcher)
            continue;
        const struct cpu_scope_image image = {process_image_key(process), process->file.header.started, i};
        if (!ADD(array_push, &scopes->images, image))
            return error_no_memory("processes");
    }
    if (scopes->images.count > 0)
        qsort(scopes->images.items, scopes->images.count, sizeof(*scopes->images.items), by_key);
    if (limited && find_any(conversion) != 0)
        return -1;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        struct process *process = conversion_process(conversion, i);
        if (!process->file.header.by_launcher)
            continue;
        const struct process *image = find_image(conversion, process);
        process->cpu_scope->own_threads = image ? image->file.header.own_threads : NULL;
        if (limited)
            process->cpu_scope->shown = image ? image->capture_intervals : &scopes->any;
    }
    return 0;
}

/* --- which parts of an event are shown --- */

/* Whether THREAD is one of the agent's own threads. */
static bool cpu_scope_is_own(const struct process *process, uint32_t thread)
{
    const uint32_t *own = process->cpu_scope->own_threads;
    for (size_t i = 0; own && i < SPOOL_OWN_THREADS; i++)
        if (own[i] == thread)
            return thread != 0;
    return false;
}

/* A part of an event that is shown. Starts as zeros. */
struct cpu_stretch {
    uint64_t start, end;
    bool any;
};

/* Moves STRETCH to the next part of EVENT that is shown. Returns false if there is none. */
static bool cpu_scope_next(const struct process *process, const struct event *event, struct cpu_stretch *stretch)
{
    const struct capture_intervals *shown = process->cpu_scope->shown;
    bool first = !stretch->any;
    uint64_t start = first ? event->start : stretch->end;
    stretch->any = true;
    if (!first && (!shown || start >= event->end))
        return false;
    start = shown ? capture_intervals_begin(shown, start) : start;
    uint64_t end = shown ? capture_intervals_end(shown, start) : UINT64_MAX;
    stretch->start = start;
    stretch->end = end < event->end ? end : event->end;
    return start < event->end || start == event->start;
}

/* Indexes PART, a shown part of an event. */
static int index_part(struct process *process, const struct event *part, enum track_kind kind)
{
    if (!process_index_span(process, part))
        return 0;
    if (!process_thread(process, kind, part->thread))
        return -1;
    const struct recorded_stack *stack = stacks_get(process->stacks, part->cpu.stack);
    size_t index = stack ? (size_t)(stack - process->stacks->items.items) : 0;
    while (stack && process->cpu_stacks->uses.count <= index)
        if (!array_push(&process->cpu_stacks->uses))
            return error_no_memory("call stacks");
    if (stack)
        process->cpu_stacks->uses.items[index]++;
    return 0;
}

int index_cpu(struct process *process, const struct event *event)
{
    enum track_kind kind = event->type == EVENT_CPU_SAMPLE ? TRACK_THREAD : TRACK_THREAD_STATE;
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

/* --- stacks --- */

/* Stacks with equal values here are one. The namer keeps each text once, so pointers are compared. */
struct innermost {
    uintptr_t function, file;
    uint64_t line, address, callers;
};

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
    size_t callers = (size_t)(stack->count - 1) * sizeof(uint64_t);
    struct innermost key = {.function = (uintptr_t)frame.function,
                            .file = (uintptr_t)frame.file,
                            .line = frame.line,
                            .address = frame.function ? 0 : frame.address,
                            .callers = hash_bytes(stack->words + sizeof(uint64_t), callers)};
    uint64_t *first = map_put(known, hash_bytes(&key, sizeof(key)), NULL);
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

/* Returns NULL if the stack is unknown or empty. */
static const struct cpu_stack *find_stack(const struct process *process, uint32_t number)
{
    const struct recorded_stack *stack = stacks_get(process->stacks, number);
    size_t index = stack ? (size_t)(stack - process->stacks->items.items) : SIZE_MAX;
    return index < process->cpu_stacks->items.count && stack->count > 0 ? &process->cpu_stacks->items.items[index]
                                                                        : NULL;
}

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
        args_stack(&args, process, stack->same_as, ARG_CALLED_AT);
    struct name name = stack ? *names_get(&process->conversion->names, stack->name) : name_plain("?");
    piece_writer_instant(out, CATEGORY_CPU_SAMPLE, name, track, event->start, &args);
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
        args_stack(&args, process, stack->same_as, ARG_CALLED_AT);
    if (event->cpu.waker != 0)
        args_u64(&args, ARG_WAKER, event->cpu.waker);
    args_u64(&args, ARG_THREAD, event->thread);
    unsigned state = event->cpu.state < SPOOL_THREAD_STATE_COUNT ? event->cpu.state : SPOOL_THREAD_UNKNOWN;
    const struct row row = {track->pid, track->tids[0]};
    while (cpu_scope_next(process, event, &stretch))
        piece_writer_slice(out, CATEGORY_THREAD_STATE, name_plain(names[state]), row, stretch.start, stretch.end,
                           &args);
    return 0;
}

bool cpu_row_is_named(const struct conversion *conversion, const struct process *process, const struct track *track)
{
    const struct process *image = conversion_latest_image(conversion, process);
    if (!process->file.header.by_launcher || !image || image == process || image->file.header.by_launcher)
        return false;
    return !track || tracks_get(&image->tracks, track->kind, track->device, track->context, track->number);
}
