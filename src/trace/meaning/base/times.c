/*
 * Times of a run: marks of recording on and off, sorted, and questions about them; for each thread, intervals in which
 * plugins were called; the stretches between settings of the clock, from the headers and records of all spools.
 */
#include "trace/meaning/base/times.h"

#include "common/clock.h"
#include "common/log.h"
#include "trace/meaning/base/process.h"
#include "trace/spool/agent_records.h"

void capture_intervals_release(struct capture_intervals *capture_intervals)
{
    file_vector_release(&capture_intervals->marks);
}

int capture_intervals_mark(struct capture_intervals *capture_intervals, const struct event *event)
{
    const struct capture_mark mark = {.time = event->start, .on = event->capture.on};
    capture_intervals->limited |= !mark.on;
    capture_intervals->any_on |= mark.on;
    return ADD(file_vector_push, &capture_intervals->marks, mark) ? 0 : error_no_memory("capture intervals");
}

ORDER_BY(by_time, struct capture_mark, time)

int capture_intervals_close(struct capture_intervals *capture_intervals)
{
    return file_vector_sort(&capture_intervals->marks, by_time) == 0 ? 0 : error_no_memory("capture intervals");
}

/* Returns how many marks are at or before TIME. */
static size_t marks_until(const struct capture_intervals *capture_intervals, uint64_t time)
{
    return COUNT_BEFORE(capture_intervals->marks.count, i, capture_intervals->marks.items[i].time <= time);
}

bool capture_intervals_hold(const struct capture_intervals *capture_intervals, uint64_t time)
{
    if (!capture_intervals->limited)
        return true;
    size_t until = marks_until(capture_intervals, time);
    /* Events before the first mark happened while it was being made. */
    return until > 0 ? capture_intervals->marks.items[until - 1].on : capture_intervals->marks.items[0].on;
}

uint64_t capture_intervals_begin(const struct capture_intervals *capture_intervals, uint64_t time)
{
    if (capture_intervals_hold(capture_intervals, time))
        return time;
    for (size_t i = marks_until(capture_intervals, time); i < capture_intervals->marks.count; i++)
        if (capture_intervals->marks.items[i].on)
            return capture_intervals->marks.items[i].time;
    return UINT64_MAX;
}

uint64_t capture_intervals_end(const struct capture_intervals *capture_intervals, uint64_t time)
{
    if (!capture_intervals->limited)
        return UINT64_MAX;
    for (size_t i = marks_until(capture_intervals, time); i < capture_intervals->marks.count; i++)
        if (!capture_intervals->marks.items[i].on)
            return capture_intervals->marks.items[i].time;
    return UINT64_MAX;
}

int index_capture(struct process *process, const struct event *event)
{
    if (!process_index_span(process, event))
        return 0;
    return process_thread(process, TRACK_THREAD, event->thread) ? 0 : -1;
}

int write_capture(struct piece_writer *out, struct process *process, const struct event *event)
{
    const struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, event->thread);
    if (!process->cuda && !process->nvtx_seen)
        return 0; /* nothing was recorded: the trace has no events */
    if (!thread || !process_knows_time(process, event->start))
        return 0;
    struct args args = {0};
    args_text(&args, ARG_REASON, event->text, event->text_length);
    struct name name = name_plain(event->capture.on ? "Recording on" : "Recording off");
    piece_writer_instant(out, CATEGORY_CAPTURE, name, thread, event->start, &args);
    return 0;
}

/* --- plugins --- */

#define EVICT_INTERVALS ((size_t)1 << 19) /* pages are evicted after joining so many intervals */

void plugin_intervals_init(struct plugin_intervals *intervals, const char *directory)
{
    *intervals = (struct plugin_intervals){.directory = directory};
}

void plugin_intervals_release(struct plugin_intervals *intervals)
{
    for (size_t i = 0; i < intervals->threads.count; i++)
        file_vector_release(&intervals->threads.items[i].items);
    array_release(&intervals->threads);
    map_release(&intervals->by_thread);
}

int plugin_intervals_add(struct plugin_intervals *intervals, uint32_t thread, uint64_t start, uint64_t end)
{
    const struct plugin_interval interval = {start, end};
    struct plugin_intervals_of *of = PUT_ITEM(&intervals->threads, &intervals->by_thread, thread);
    if (of)
        of->items.memory.directory = intervals->directory;
    return of && ADD(file_vector_push, &of->items, interval) ? 0 : error_no_memory("intervals of plugins");
}

ORDER_BY(by_start, struct plugin_interval, start)

/* Sorts the thread's intervals and joins those that touch. */
static int put_in_order(struct plugin_intervals_of *thread)
{
    struct plugin_interval *items = thread->items.items;
    size_t kept = 0;
    if (file_vector_sort(&thread->items, by_start) != 0)
        return error_no_memory("intervals of plugins");
    for (size_t i = 1; i < thread->items.count; i++) {
        if (items[i].start > items[kept].end)
            items[++kept] = items[i];
        else if (items[i].end > items[kept].end)
            items[kept].end = items[i].end;
        if (i % EVICT_INTERVALS == 0)
            file_vector_evict(&thread->items);
    }
    thread->items.count = kept + 1;
    return 0;
}

int plugin_intervals_close(struct plugin_intervals *intervals)
{
    for (size_t i = 0; i < intervals->threads.count; i++)
        if (put_in_order(&intervals->threads.items[i]) != 0)
            return -1;
    return 0;
}

void plugin_intervals_evict(const struct plugin_intervals *intervals)
{
    for (size_t i = 0; i < intervals->threads.count; i++)
        file_vector_evict(&intervals->threads.items[i].items);
}

bool plugin_intervals_hold(const struct plugin_intervals *intervals, uint32_t thread, uint64_t start, uint64_t end)
{
    const struct plugin_intervals_of *of = FIND_ITEM(&intervals->threads, &intervals->by_thread, thread);
    size_t begun = of ? COUNT_BEFORE(of->items.count, i, of->items.items[i].start <= start) : 0;
    return begun > 0 && end <= of->items.items[begun - 1].end;
}

/* The clocks are read one after the other: if the offsets of two processes differ by less, no step was made. */
#define SAME_NS 1000000

static int add(struct clock_axis *axis, struct clock_stretch stretch)
{
    return ADD(array_push, &axis->stretches, stretch) ? 0 : error_no_memory("the steps of the clock");
}

int clock_axis_start(struct clock_axis *axis, int64_t monotonic, int64_t offset)
{
    axis->reference = offset;
    return add(axis, (struct clock_stretch){INT64_MIN, monotonic, INT64_MAX, INT64_MAX, offset});
}

void clock_axis_end(struct clock_axis *axis, int64_t monotonic)
{
    axis->stretches.items[axis->stretches.count - 1].sure_to = monotonic;
}

int clock_axis_step(struct clock_axis *axis, int64_t before, int64_t monotonic, int64_t offset)
{
    struct clock_stretch *last = &axis->stretches.items[axis->stretches.count - 1];
    last->sure_to = before;
    last->latest = monotonic;
    axis->stepped = true;
    return add(axis, (struct clock_stretch){before, monotonic, INT64_MAX, INT64_MAX, offset});
}

void clock_axis_refer(struct clock_axis *axis, int64_t reference)
{
    axis->reference = reference;
    if (axis->stretches.count > 0 && llabs(axis->stretches.items[0].offset - reference) >= SAME_NS)
        axis->stepped = true;
}

/* Returns by how much TIME lies outside of [FROM, TO]. */
static uint64_t distance(int64_t time, int64_t from, int64_t to)
{
    if (time < from)
        return (uint64_t)from - (uint64_t)time;
    return time > to ? (uint64_t)time - (uint64_t)to : 0;
}

/* How badly a time fits a stretch; 0 is best. */
struct fit {
    uint64_t impossible; /* ns outside of the time in which the stretch may have been, or of the hint */
    uint64_t unsure;     /* ns outside of the time in which the stretch certainly was */
};

static struct fit fit_of(const struct clock_stretch *stretch, uint64_t time, struct clock_hint hint)
{
    int64_t monotonic = clock_monotonic_of(stretch, time);
    uint64_t of_stretch = distance(monotonic, stretch->earliest, stretch->latest);
    uint64_t of_hint = distance(monotonic, hint.from, hint.to);
    return (struct fit){.impossible = of_stretch > of_hint ? of_stretch : of_hint,
                        .unsure = distance(monotonic, stretch->sure_from, stretch->sure_to)};
}

const struct clock_stretch *clock_axis_find(const struct clock_axis *axis, uint64_t time, struct clock_hint hint,
                                            const struct clock_stretch *preferred)
{
    const struct clock_stretch *best = preferred;
    struct fit best_fit = preferred ? fit_of(preferred, time, hint) : (struct fit){0};
    for (size_t i = 0; i < axis->stretches.count; i++) {
        struct fit fit = fit_of(&axis->stretches.items[i], time, hint);
        if (best && (ORDER(fit.impossible, best_fit.impossible) ?: ORDER(fit.unsure, best_fit.unsure)) >= 0)
            continue;
        best = &axis->stretches.items[i];
        best_fit = fit;
    }
    return best;
}

/* Records of one part are in order of time, except for this much. */
#define DISORDER_NS ((int64_t)(100 * NS_PER_MS))

static int64_t offset_at_start(const struct spool_header *header)
{
    return (int64_t)(header->started - header->started_monotonic);
}

static int read_steps(struct process *process)
{
    const struct spool_header *header = &process->file.header;
    uint32_t count = header->clock_count < SPOOL_CLOCKS ? header->clock_count : SPOOL_CLOCKS;
    int64_t started = (int64_t)header->started_monotonic, looked = (int64_t)header->clock_looked;
    if (clock_axis_start(process->clocks, started, offset_at_start(header)) != 0)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        const struct spool_clock *clock = &header->clocks[i];
        if (clock_axis_step(process->clocks, (int64_t)clock->before, (int64_t)clock->monotonic, clock->offset) != 0)
            return -1;
    }
    if (looked != 0)
        clock_axis_end(process->clocks, looked);
    return 0;
}

static uint64_t placed(const struct clock_axis *clocks, uint64_t time, struct clock_hint hint)
{
    const struct clock_stretch *stretch = clock_axis_find(clocks, time, hint, NULL);
    return time && stretch ? clock_axis_place(clocks, stretch, time) : time;
}

int find_clocks(struct conversion *conversion)
{
    const struct process *first = NULL;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        struct process *process = conversion_process(conversion, i);
        /* Converts the header from the monotonic clock of the process's time namespace to the host's. */
        struct spool_header *header = &process->file.header;
        uint64_t ahead = (uint64_t)header->monotonic_ahead; /* unsigned: a damaged header may have any value */
        if (header->started_monotonic != 0)
            header->started_monotonic -= ahead;
        if (header->clock_looked != 0)
            header->clock_looked -= ahead;
        for (uint32_t k = 0; k < SPOOL_CLOCKS; k++) {
            struct spool_clock *clock = &header->clocks[k];
            clock->before -= ahead;
            clock->monotonic -= ahead;
            clock->offset = (int64_t)((uint64_t)clock->offset + ahead);
        }
        uint64_t started = process->file.header.started_monotonic;
        if (started == 0)
            continue; /* an unknown start: the process's times stay as they are */
        if (read_steps(process) != 0)
            return -1;
        if (!first || started < first->file.header.started_monotonic)
            first = process;
    }
    int64_t reference = first ? offset_at_start(&first->file.header) : 0;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        struct process *process = conversion_process(conversion, i);
        struct spool_header *header = &process->file.header;
        struct clock_hint started = {(int64_t)header->started_monotonic, (int64_t)header->started_monotonic};
        struct clock_hint after = {(int64_t)header->started_monotonic, INT64_MAX};
        clock_axis_refer(process->clocks, reference);
        if (!process->clocks->stepped)
            continue;
        if (header->clock_count > 0 && header->clock_count <= SPOOL_CLOCKS)
            after.from = (int64_t)header->clocks[header->clock_count - 1].monotonic;
        header->started = placed(process->clocks, header->started, started);
        header->finished = placed(process->clocks, header->finished, after);
    }
    return 0;
}

void clock_walk_begin(struct clock_walk *walk, const struct process *process, const struct spool_part *part)
{
    uint64_t ahead = (uint64_t)process->file.header.monotonic_ahead;
    *walk = (struct clock_walk){.clocks = process->clocks, .part = {INT64_MIN, INT64_MAX}, .last = INT64_MIN};
    if (part->opened_monotonic != 0)
        walk->part.from = (int64_t)(part->opened_monotonic - ahead - DISORDER_NS); /* a damaged one may wrap */
    if (part->done_monotonic != 0)
        walk->part.to = (int64_t)(part->done_monotonic - ahead);
}

/* A record is written when what it describes ends; a record of GPU work, when the work is launched. */
void clock_walk_correct(struct clock_walk *walk, struct event *event)
{
    struct clock_hint hint = walk->part;
    if (event->end == 0)
        return;
    if (walk->last > hint.from)
        hint.from = walk->last;
    const struct clock_stretch *stretch = clock_axis_find(walk->clocks, event->end, hint, NULL);
    int64_t end = clock_monotonic_of(stretch, event->end);
    uint64_t end_time = event->end;
    event->end = clock_axis_place(walk->clocks, stretch, event->end);
    if (!event_is_gpu_work(event->type) && end - DISORDER_NS > walk->last)
        walk->last = end - DISORDER_NS;
    struct clock_hint before = {INT64_MIN, end};
    const struct clock_stretch *same = event->start <= end_time ? stretch : NULL;
    if (event->start != 0)
        stretch = clock_axis_find(walk->clocks, event->start, before, same);
    if (event->start != 0)
        event->start = clock_axis_place(walk->clocks, stretch, event->start);
    if (event->type == EVENT_KERNEL && event->kernel.queued != 0)
        event->kernel.queued = clock_axis_place(walk->clocks, stretch, event->kernel.queued);
}

int process_walk_agent_records(struct process *process, event_function visit, uint64_t *undecoded)
{
    const struct spool_file *file = &process->file;
    uint64_t lost = 0, walked = 0;
    int result = 0;
    for (size_t i = 0; i < file->parts.count && result == 0; i++) {
        const struct spool_part *part = &file->parts.items[i];
        struct agent_walk walk;
        struct clock_walk clocks;
        if (part->type != SPOOL_RECORDS)
            continue;
        clock_walk_begin(&clocks, process, part);
        agent_walk_begin(&walk, part);
        while (result == 0 && agent_walk_next(&walk)) {
            struct event event;
            agent_decode(&event, &walk, part->thread);
            clock_walk_set(&clocks, &event);
            result = visit(process, &event);
        }
        lost += walk.damaged;
        spool_part_evict(part);
        process_walked(process, part, &walked);
    }
    if (undecoded)
        *undecoded += lost;
    return result;
}
