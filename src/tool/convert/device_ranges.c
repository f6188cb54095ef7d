/*
 * Device ranges: their times are found in the walk over all records that comes before the survey, and put where the
 * work before them is done in the survey; their rows are found in the match. They are written among the other ranges on
 * the GPU.
 */
#include "tool/convert/conversion.h"
#include "tool/convert/emitter.h"
#include "tool/decode/own.h"
#include "tool/spool/records.h"
#include "wire/settings.h"

/* The event that marks a moment was recorded by the library: neither it nor the call is the program's. */
int see_device_range(struct process *process, const struct event *event)
{
    process->cuda = true;
    if (!process_knows_time(process, event->start)) {
        process->losses.undecoded++;
        return 0;
    }
    if (event->correlation != 0 && launches_aside(&process->launches, event) != 0)
        return -1;
    return device_ranges_see(&process->device_ranges, event);
}

void see_device_moment(struct process *process, const struct event *event)
{
    if (event->device != EVENT_NO_DEVICE && process_knows_time(process, event->start))
        device_ranges_time(&process->device_ranges, event);
}

/* Work of sorts that were not recorded may lie between moments. */
static bool all_work_recorded(const struct process *process)
{
    uint64_t recorded = process->file.header.trace_bits, work = TRACE_KERNEL | TRACE_MEMCPY | TRACE_MEMSET;
    return recorded == 0 || (recorded & work) == work;
}

void see_device_times(struct process *process)
{
    device_ranges_settle(&process->device_ranges, all_work_recorded(process));
    for (size_t i = 0; i < process->device_ranges.items.count; i++) {
        const struct device_range *range = &process->device_ranges.items.items[i];
        const uint64_t times[] = {range->start.time, range->end.time};
        for (unsigned j = 0; j < 2; j++)
            if (times[j] != 0)
                see_time(process, times[j], times[j]);
    }
}

int match_device_ranges(struct conversion *conversion, struct process *process)
{
    for (size_t i = 0; i < process->device_ranges.items.count; i++) {
        const struct device_range *range = &process->device_ranges.items.items[i];
        const struct device_moment *at = &range->start;
        struct track *stream = process_stream(conversion, process, TRACK_STREAM, at->device, at->context, at->stream);
        struct track *track =
            process_stream(conversion, process, TRACK_ANNOTATION, at->device, at->context, at->stream);
        if (!stream || !track || lanes_collect(&track->lanes, range->start.time, range->end.time) != 0)
            return -1;
    }
    return 0;
}

void match_device_work(struct process *process, const struct event *event)
{
    if (!device_ranges_cut(&process->device_ranges, event))
        return;
    struct track *track = tracks_get(&process->tracks, TRACK_ANNOTATION, event->device, event->context, event->stream);
    if (track)
        track->apart = true;
}

static void emit_device_range(struct emitter *emitter, struct process *process, const struct device_range *range)
{
    static const char none[] = "(no message)", function[] = "gputrace_device_range";
    struct track *track =
        tracks_get(&process->tracks, TRACK_ANNOTATION, range->start.device, range->start.context, range->start.stream);
    struct own_walk walk;
    struct event event;
    struct args args = {0};
    if (!track)
        return;
    own_walk_at(&walk, range->record);
    own_decode(&event, &walk, range->thread);
    args_u64(&args, ARG_RANGE, range->number);
    args_u64(&args, ARG_THREAD, range->thread);
    if (range->end.stream != range->start.stream)
        args_u64(&args, ARG_END_STREAM, range->end.stream);
    if (range->open_at_end)
        args_add(&args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    args_text(&args, ARG_FROM, function, sizeof(function) - 1);
    struct slice slice = {.category = CATEGORY_GPU_USER_ANNOTATION,
                          .name = event.text_length ? name_passing(event.text, event.text_length)
                                                    : name_passing(none, sizeof(none) - 1),
                          .row = track_row(track, range->start.time, range->end.time),
                          .start = range->start.time,
                          .end = range->end.time,
                          .args = &args};
    emitter->writer.format->slice(&emitter->writer, &slice);
}

/* Or is as long. */
static bool comes_before(const struct device_range *range, uint64_t start, uint64_t end)
{
    return range->start.time < start || (range->start.time == start && range->end.time >= end);
}

void emit_device_ranges(struct emitter *emitter, struct process *process, uint64_t start, uint64_t end)
{
    const struct device_ranges *ranges = &process->device_ranges;
    for (; emitter->device_range < ranges->items.count; emitter->device_range++) {
        const struct device_range *range = &ranges->items.items[emitter->device_range];
        if (!comes_before(range, start, end))
            return;
        emit_device_range(emitter, process, range);
    }
}

void skip_device_ranges(struct emitter *emitter, const struct process *process, uint64_t start, uint64_t end)
{
    const struct device_ranges *ranges = &process->device_ranges;
    while (emitter->device_range < ranges->items.count &&
           comes_before(&ranges->items.items[emitter->device_range], start, end))
        emitter->device_range++;
}
