/*
 * The second walk: see conversion.h.
 */
#include "tool/convert/conversion.h"
#include "tool/convert/walks.h"
#include "tool/convert/nvtx_extensions.h"

#include "wire/settings.h"

#define REST_ITEMS ((size_t)1 << 18) /* are walked over before indexes give their pages back */

/* Without records of API calls no arrow can be whole, and none is missing. */
static bool calls_recorded(const struct process *process)
{
    uint64_t wanted = TRACE_RUNTIME | TRACE_DRIVER;
    return process->file.header.trace_bits == 0 || (process->file.header.trace_bits & wanted) == wanted;
}

static int match_launch(struct process *process, const struct event *event, uint32_t track)
{
    struct launch *launch = event->correlation ? launches_get(&process->launches, event->correlation) : NULL;
    if (!launch || launch->from == LAUNCH_UNKNOWN) {
        process->losses.unmatched_arrows += calls_recorded(process);
        return 0;
    }
    process->losses.before_launch += event->start < launch->start;
    if (!launch_reaches(launch, event->end))
        launch->works--;
    else if (launches_meet(&process->launches, launch, event->correlation, process->part) != 0)
        return -1;
    if (nvtx_range_count(&process->nvtx) == 0)
        return 0;
    return projections_see(&process->projections, &process->nvtx, launch->thread, launch->start, track, event->start,
                           event->end);
}

static int match_gpu_work(struct process *process, const struct event *event)
{
    struct track *stream = tracks_look(&process->tracks, &process->tracks.recent, TRACK_STREAM, event->device,
                                       event->context, event->stream);
    if (!stream || event->in_flight || !process_knows_span(process, event))
        return 0;
    if (lanes_collect_own(&stream->lanes, event->start, event->end, process->part) != 0)
        return -1;
    match_device_work(process, event);
    return match_launch(process, event, stream->index);
}

static int match_api(struct process *process, const struct event *event)
{
    struct track *thread = tracks_look(&process->tracks, &process->tracks.recent, TRACK_THREAD, 0, 0, event->thread);
    if (!thread || !process_knows_span(process, event))
        return 0;
    return lanes_collect(&thread->lanes, event->start, event->end);
}

static int match_sync(struct conversion *conversion, struct process *process, const struct event *event)
{
    if (!process_knows_span(process, event))
        return 0;
    struct track *track =
        process_stream(conversion, process, TRACK_SYNC, process_device(process, event), event->context, event->stream);
    return track ? lanes_collect(&track->lanes, event->start, event->end) : -1;
}

static int match_event(struct conversion *conversion, struct process *process, const struct event *event)
{
    if (event_is_gpu_work(event->type))
        return match_gpu_work(process, event);
    if (event->type == EVENT_API)
        return match_api(process, event);
    if (event->type == EVENT_SYNC)
        return match_sync(conversion, process, event);
    return 0;
}

static int match_own(struct conversion *conversion, struct process *process, const struct event *event)
{
    return event->type == EVENT_SYNC && process_shows_own_wait(process, event) ? match_sync(conversion, process, event)
                                                                               : 0;
}

static int match_host(struct process *process, uint32_t number, uint64_t start, uint64_t end)
{
    struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, number);
    return thread ? lanes_collect(&thread->lanes, start, end) : 0;
}

/* Ranges of push and pop, and waiting for synchronisation objects. */
static int match_ranges(struct process *process)
{
    for (size_t i = 0; i < process->nvtx.ranges.count; i++) {
        const struct nvtx_range *range = &process->nvtx.ranges.items[i];
        if (match_host(process, range->thread, range->start, range->end) != 0)
            return -1;
        if (i % REST_ITEMS == 0)
            process_rest(process);
    }
    for (size_t i = 0; i < process->nvtx.syncs.waits.count; i++) {
        const struct nvtx_wait *wait = &process->nvtx.syncs.waits.items[i];
        if (match_host(process, wait->thread, wait->start, wait->end) != 0)
            return -1;
    }
    return 0;
}

/* A row of ranges for each stream that has any. */
static int match_projections(struct conversion *conversion, struct process *process)
{
    if (projections_finish(&process->projections, &process->nvtx) != 0)
        return -1;
    for (size_t i = 0; i < process->projections.items.count; i++) {
        const struct projection *projection = &process->projections.items.items[i];
        const struct track *stream = process->tracks.items.items[projection->track];
        struct track *track =
            process_stream(conversion, process, TRACK_ANNOTATION, stream->device, stream->context, stream->number);
        if (!track || lanes_collect(&track->lanes, projection->start, projection->end) != 0)
            return -1;
        if (i % REST_ITEMS == 0)
            process_rest(process);
    }
    return 0;
}

int match_process(struct conversion *conversion, struct process *process)
{
    if (match_deferred(process) != 0 || match_counters(process) != 0 || match_device_ranges(conversion, process) != 0 ||
        projections_begin(&process->projections, &process->nvtx) != 0 ||
        process_walk_cupti(conversion, process, match_event, NULL) != 0 || match_ranges(process) != 0 ||
        match_projections(conversion, process) != 0 || match_compilation(process) != 0 || match_plugins(process) != 0)
        return -1;
    if (process->own_waits && process_walk_own(conversion, process, match_own, NULL) != 0)
        return -1;
    if (pools_sort(&process->pools) != 0 || memory_sort(&process->memory) != 0 ||
        cuda_events_sort(&process->cuda_events) != 0)
        return -1;
    process_rest(process);
    return tracks_number(&process->tracks, &conversion->rows);
}
