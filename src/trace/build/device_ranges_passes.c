/*
 * Device ranges: their times are found in the walk over all records that comes before the survey, and put where the
 * work before them is done in the survey; their rows are found in the match. They are written among the other ranges on
 * the GPU.
 */
#include "trace/build/conversion.h"
#include "trace/build/emitter.h"
#include "trace/spool/own.h"
#include "trace/spool/records.h"
#include "common/settings.h"

#define REST_ITEMS ((size_t)1 << 17) /* are walked over before indexes give their pages back */

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
    const struct device_moments *moments = &process->device_ranges.moments;
    device_ranges_settle(&process->device_ranges, all_work_recorded(process));
    if (moments->first != 0)
        see_time(process, moments->first, moments->last);
}

int match_device_ranges(struct conversion *conversion, struct process *process)
{
    for (size_t i = 0; i < process->device_ranges.items.count; i++) {
        const struct device_range *range = &process->device_ranges.items.items[i];
        struct track *stream =
            process_stream(conversion, process, TRACK_STREAM, range->device, range->context, range->stream);
        struct track *track =
            process_stream(conversion, process, TRACK_ANNOTATION, range->device, range->context, range->stream);
        if (!stream || !track || lanes_collect(&track->lanes, range->start, range->end) != 0)
            return -1;
        if (i % REST_ITEMS == 0)
            process_rest(process);
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
        emitter_track(emitter, process, TRACK_ANNOTATION, range->device, range->context, range->stream);
    struct own_walk walk;
    struct event event;
    struct args args = {0};
    if (!track)
        return;
    own_walk_at(&walk, range->record);
    own_decode(&event, &walk, range->thread);
    args_u64(&args, ARG_RANGE, range->number);
    args_u64(&args, ARG_THREAD, range->thread);
    if (range->end_stream != range->stream)
        args_u64(&args, ARG_END_STREAM, range->end_stream);
    if (range->open_at_end)
        args_add(&args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    args_text(&args, ARG_FROM, function, sizeof(function) - 1);
    struct slice slice = {.category = CATEGORY_GPU_USER_ANNOTATION,
                          .name = event.text_length ? name_passing(event.text, event.text_length)
                                                    : name_passing(none, sizeof(none) - 1),
                          .row = track_row(track, range->start, range->end),
                          .start = range->start,
                          .end = range->end,
                          .args = &args};
    emitter->writer.format->slice(&emitter->writer, &slice);
}

/* --- ranges of both sorts on the GPU: by their start, then longer ones first, then those of the device --- */

static bool device_range_is_first(const struct device_range *range, const struct projection *projection)
{
    return range->start < projection->start || (range->start == projection->start && range->end >= projection->end);
}

/* How many device ranges are among the first NUMBER of all. */
static size_t device_ranges_among(const struct process *process, size_t number)
{
    size_t projections = process->projections.items.count, ranges = process->device_ranges.items.count;
    size_t low = number > projections ? number - projections : 0, high = number < ranges ? number : ranges;
    while (low < high) {
        size_t middle = low + (high - low) / 2; /* and NUMBER - MIDDLE projections, of which the last comes after it? */
        if (device_range_is_first(&process->device_ranges.items.items[middle],
                                  &process->projections.items.items[number - middle - 1]))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t gpu_range_count(const struct process *process)
{
    return process->projections.items.count + process->device_ranges.items.count;
}

int emit_gpu_ranges(struct emitter *emitter, struct process *process, size_t first, size_t end)
{
    const struct projection *projections = process->projections.items.items;
    const struct device_range *ranges = process->device_ranges.items.items;
    size_t range = device_ranges_among(process, first);
    for (size_t i = first; i < end; i++) {
        size_t projection = i - range;
        bool of_device = range < process->device_ranges.items.count &&
                         (projection == process->projections.items.count ||
                          device_range_is_first(&ranges[range], &projections[projection]));
        if (of_device)
            emit_device_range(emitter, process, &ranges[range++]);
        else
            emit_projection(emitter, process, &projections[projection]);
    }
    return 0;
}
