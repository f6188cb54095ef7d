/*
 * The first walk, over CUPTI's records: which call started which work, rows of streams, and which rows need lanes.
 */
#include "common/log.h"
#include "trace/build/sift.h"
#include "trace/build/survey.h"
#include "common/settings.h"

/* What one part of the spool has. */
struct found {
    struct tracks tracks;           /* threads and streams; their lanes watch */
    struct nvtx_places places;      /* in the ranges of its thread, mostly */
    uint64_t first_time, last_time; /* 0: none */
    uint64_t undecoded, in_flight, zero_time;
    bool any;
};

static void widen(struct found *found, const struct event *event)
{
    if (found->first_time == 0 || event->start < found->first_time)
        found->first_time = event->start;
    if (event->end > found->last_time)
        found->last_time = event->end;
}

static int look_at_api(struct process *process, struct found *found, const struct event *event)
{
    if (!process_knows_span(process, event)) {
        found->undecoded++;
        return 0;
    }
    widen(found, event);
    struct track *thread = tracks_put(&found->tracks, TRACK_THREAD, 0, 0, event->thread, NULL);
    if (!thread)
        return -1;
    lanes_see(&thread->lanes, event->start, event->end);
    if (!thread->lanes.collecting &&
        !nvtx_fits(&process->nvtx, &found->places, event->thread, event->start, event->end))
        lanes_must_collect(&thread->lanes);
    return event->correlation ? launches_call(&process->launches, event) : 0;
}

/* Whether the work's name, or its time among others, has to be seen. */
static bool is_to_be_seen(const struct process *process, const struct event *event)
{
    return process->device_ranges.any || (event->type == EVENT_KERNEL && !kernel_name_is_settled(process, event));
}

static int look_at_gpu_work(struct process *process, struct found *found, const struct event *event)
{
    struct track *stream = tracks_put(&found->tracks, TRACK_STREAM, event->device, event->context, event->stream, NULL);
    if (!stream)
        return -1;
    if (event->in_flight || !process_knows_span(process, event)) {
        found->in_flight += event->in_flight;
        found->zero_time += !event->in_flight;
    } else {
        widen(found, event);
        lanes_see(&stream->lanes, event->start, event->end);
        if (event->correlation && launches_work(&process->launches, event->correlation) != 0)
            return -1;
    }
    return is_to_be_seen(process, event) ? SIFT_PUT_OFF : 0;
}

static int look(struct process *process, void *context, const struct event *event)
{
    struct found *found = context;
    found->any = true;
    if (event->type == EVENT_API)
        return look_at_api(process, found, event);
    return event_is_gpu_work(event->type) ? look_at_gpu_work(process, found, event) : SIFT_PUT_OFF;
}

static void release(void *context)
{
    struct found *found = context;
    tracks_release(&found->tracks);
}

/* Contexts created before recording began have no record of their own. */
static int see_place(struct process *process, const struct track *stream)
{
    uint64_t *device = map_put(&process->device_of_context, stream->context, NULL);
    if (!device)
        return error_no_memory("contexts");
    *device = (uint64_t)stream->device + 1;
    return 0;
}

static struct track *take_track(struct conversion *conversion, struct process *process, const struct track *found)
{
    if (found->kind == TRACK_THREAD)
        return process_thread(process, TRACK_THREAD, found->number);
    if (see_place(process, found) != 0)
        return NULL;
    return process_stream(conversion, process, TRACK_STREAM, found->device, found->context, found->number);
}

static int take(struct conversion *conversion, struct process *process, void *context)
{
    struct found *found = context;
    int result = 0;
    process->cuda |= found->any;
    process->losses.undecoded += found->undecoded;
    process->losses.in_flight += found->in_flight;
    process->losses.zero_time += found->zero_time;
    if (found->first_time != 0)
        see_time(process, found->first_time, found->last_time);
    for (size_t i = 0; i < found->tracks.items.count && result == 0; i++) {
        const struct track *part = found->tracks.items.items[i];
        struct track *track = take_track(conversion, process, part);
        if (track)
            lanes_append(&track->lanes, &part->lanes);
        else
            result = -1;
    }
    release(found);
    *found = (struct found){0};
    return result;
}

/* --- what was put off --- */

static int see_gpu_work(struct process *process, const struct event *event)
{
    if (event->type == EVENT_KERNEL && see_kernel_name(process, event) != 0)
        return -1;
    if (process->device_ranges.any && !event->in_flight && process_knows_span(process, event))
        device_ranges_work(&process->device_ranges, event);
    return 0;
}

static int see_device(struct process *process, const struct event *event)
{
    if (process_device_info(process, event->device_info.id))
        return 0;
    struct device *device = array_push(&process->devices);
    if (!device)
        return error_no_memory("devices");
    *device = event->device_info;
    return 0;
}

static int see_cuda_event(struct conversion *conversion, struct process *process, const struct event *event)
{
    bool shown = process_was_to_record(process, TRACE_EVENT_TIMES);
    if (shown && event->start != 0 && process_knows_time(process, event->start)) {
        see_time(process, event->start, event->start);
        if (!process_stream(conversion, process, TRACK_STREAM, process_device(process, event->device, event->context),
                            event->context, event->stream))
            return -1;
    }
    return process->own_waits ? 0 : cuda_events_see(&process->cuda_events, event);
}

static int see_overhead(struct process *process, const struct event *event)
{
    if (!process_knows_span(process, event)) {
        process->losses.undecoded++;
        return 0;
    }
    see_time(process, event->start, event->end);
    struct track *track = process_thread(process, TRACK_OVERHEAD, event->thread);
    return track ? lanes_collect(&track->lanes, event->start, event->end) : -1;
}

static int see_jit(struct process *process, const struct event *event)
{
    if (!process_knows_span(process, event)) {
        process->losses.undecoded++;
        return 0;
    }
    see_time(process, event->start, event->end);
    return compilation_jit(&process->compilation, event);
}

static int see(struct conversion *conversion, struct process *process, const struct event *event)
{
    switch (event->type) {
    case EVENT_KERNEL:
    case EVENT_MEMCPY:
    case EVENT_MEMSET:
    case EVENT_GRAPH: return see_gpu_work(process, event);
    case EVENT_SYNC: return see_sync(process, event);
    case EVENT_CUDA_EVENT: return see_cuda_event(conversion, process, event);
    case EVENT_OVERHEAD: return see_overhead(process, event);
    case EVENT_JIT: return see_jit(process, event);
    case EVENT_DEVICE: return see_device(process, event);
    case EVENT_CONTEXT: return see_context(process, event);
    default: return 0;
    }
}

static int look_at_graphs(struct process *process, void *context, const struct event *event)
{
    (void)context;
    return event_is_gpu_work(event->type) && process_knows_span(process, event)
               ? conditional_launches_look(&process->conditional, event)
               : 0;
}

/* Before all other walks, which show works by their launches. */
static int survey_conditional_launches(struct conversion *conversion, struct process *process)
{
    static const struct sift graphs = {.all = true, .look = look_at_graphs};
    if (process->conditional.items.count == 0)
        return 0;
    if (conditional_launches_order(&process->conditional) != 0 || process_sift(conversion, process, &graphs, NULL) != 0)
        return -1;
    conditional_launches_finish(&process->conditional);
    return 0;
}

int survey_cupti(struct conversion *conversion, struct process *process, uint64_t *undecoded)
{
    static const struct sift survey = {
        .found_size = sizeof(struct found), .look = look, .take = take, .release = release, .see = see};
    if (survey_conditional_launches(conversion, process) != 0)
        return -1;
    return process_sift(conversion, process, &survey, undecoded);
}
