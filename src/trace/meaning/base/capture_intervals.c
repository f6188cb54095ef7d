/*
 * The marks of recording on and off, sorted, and questions about them; the slices that show them. Intervals in which
 * plugins were called are kept the same way, for each thread.
 */
#include "trace/meaning/base/capture_intervals.h"

#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "trace/meaning/base/event_functions.h"
#include "trace/meaning/base/piece_writer.h"

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

/* Marks at or before TIME. */
static size_t marks_until(const struct capture_intervals *capture_intervals, uint64_t time)
{
    return COUNT_BEFORE(capture_intervals->marks.count, i, capture_intervals->marks.items[i].time <= time);
}

bool capture_intervals_hold(const struct capture_intervals *capture_intervals, uint64_t time)
{
    if (!capture_intervals->limited)
        return true;
    size_t until = marks_until(capture_intervals, time);
    /* Before the first mark is what came while the mark was being made. */
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

#define EVICT_INTERVALS ((size_t)1 << 19) /* are joined before pages are given back */

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

/* Sorted, and those that touch are one. */
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
