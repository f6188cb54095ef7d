/*
 * The first walk, over CUPTI's records: which call started which work, rows of streams, and which rows need lanes.
 */
#include "tool/convert/survey.h"

#include "base/log.h"
#include "wire/settings.h"

static int see_api(struct process *process, const struct event *event)
{
    if (!process_knows_span(process, event)) {
        process->losses.undecoded++;
        return 0;
    }
    see_time(process, event->start, event->end);
    struct track *thread = process_thread(process, TRACK_THREAD, event->thread);
    if (!thread)
        return -1;
    lanes_see(&thread->lanes, event->start, event->end);
    if (!thread->lanes.collecting && !nvtx_fits(&process->nvtx, event->thread, event->start, event->end))
        lanes_must_collect(&thread->lanes);
    return event->correlation ? launches_call(&process->launches, event) : 0;
}

/* Contexts created before recording began have no record of their own. */
static int see_place(struct process *process, const struct event *event)
{
    if (process->context_seen && process->recent_context == event->context)
        return 0;
    process->context_seen = true;
    process->recent_context = event->context;
    uint64_t *device = map_put(&process->device_of_context, event->context, NULL);
    if (!device)
        return error_no_memory("contexts");
    *device = (uint64_t)event->device + 1;
    return 0;
}

static int see_gpu_work(struct conversion *conversion, struct process *process, const struct event *event)
{
    if (see_place(process, event) != 0)
        return -1;
    struct track *stream =
        process_stream(conversion, process, TRACK_STREAM, event->device, event->context, event->stream);
    if (!stream)
        return -1;
    if (event->type == EVENT_KERNEL && see_kernel_name(process, event) != 0)
        return -1;
    if (event->in_flight || !process_knows_span(process, event)) {
        process->losses.in_flight += event->in_flight;
        process->losses.zero_time += !event->in_flight;
        return 0;
    }
    see_time(process, event->start, event->end);
    lanes_see(&stream->lanes, event->start, event->end);
    device_ranges_work(&process->device_ranges, event);
    if (event->correlation == 0)
        return 0;
    return launches_work(&process->launches, event->correlation);
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
        if (!process_stream(conversion, process, TRACK_STREAM, process_device(process, event), event->context,
                            event->stream))
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

int see_cupti(struct conversion *conversion, struct process *process, const struct event *event)
{
    process->cuda = true;
    switch (event->type) {
    case EVENT_KERNEL:
    case EVENT_MEMCPY:
    case EVENT_MEMSET:
    case EVENT_GRAPH: return see_gpu_work(conversion, process, event);
    case EVENT_API: return see_api(process, event);
    case EVENT_SYNC: return see_sync(process, event);
    case EVENT_CUDA_EVENT: return see_cuda_event(conversion, process, event);
    case EVENT_OVERHEAD: return see_overhead(process, event);
    case EVENT_JIT: return see_jit(process, event);
    case EVENT_DEVICE: return see_device(process, event);
    case EVENT_CONTEXT: return see_context(process, event);
    default: return 0;
    }
}
