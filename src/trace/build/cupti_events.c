#include "trace/build/cupti_events.h"

#include "common/log.h"
#include "common/settings.h"
#include "trace/build/compilation.h"
#include "trace/build/cuda_events.h"
#include "trace/build/device_ranges.h"
#include "trace/build/gpu_ops.h"
#include "trace/build/kernel_names.h"
#include "trace/build/memory.h"
#include "trace/build/process.h"

/* What goes when the process ends was still there. */
static int index_context_end(struct process *process, const struct event *event)
{
    uint64_t finished = process->file.header.finished;
    if (finished != 0 && event->start >= finished)
        return 0;
    if (!process_thread(process, TRACK_THREAD, event->thread))
        return -1;
    return memory_collect(process->memory, event);
}

int index_context(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    uint64_t *device = map_put(&process->device_of_context, event->context, NULL);
    if (!device)
        return error_no_memory("contexts");
    if (event->device != EVENT_NO_DEVICE)
        *device = (uint64_t)event->device + 1;
    if (event->object.handle != 0) {
        uint64_t *context = map_put(&process->context_of_handle, event->object.handle, NULL);
        if (!context)
            return error_no_memory("contexts");
        *context = event->context;
    }
    return event->object.destroyed ? index_context_end(process, event) : 0;
}

int index_sync(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    if (!process_knows_span(process, event)) {
        process->losses.undecoded++;
        return 0;
    }
    widen_process_time(process, event->start, event->end);
    return tracks_put(&process->waits, TRACK_SYNC, event->device, event->context, event->stream, NULL) ? 0 : -1;
}

static int index_gpu_op(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    if (event->type == EVENT_KERNEL && index_kernel_name(process, event) != 0)
        return -1;
    if (process->device_ranges->any && !event->in_flight && process_knows_span(process, event))
        device_ranges_work(process->device_ranges, event);
    return 0;
}

static int index_device(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    if (process_device_info(process, event->device_info.id))
        return 0;
    struct device *device = array_push(&process->devices);
    if (!device)
        return error_no_memory("devices");
    *device = event->device_info;
    return 0;
}

static int index_cuda_event(struct conversion *conversion, struct process *process, const struct event *event)
{
    bool shown = process_was_to_record(process, TRACE_EVENT_TIMES);
    if (shown && event->start != 0 && process_knows_time(process, event->start)) {
        widen_process_time(process, event->start, event->start);
        if (!process_stream(conversion, process, TRACK_STREAM, process_device(process, event->device, event->context),
                            event->context, event->stream))
            return -1;
    }
    return process->agent_waits ? 0 : cuda_events_index(process->cuda_events, event);
}

static int index_overhead(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    if (!process_knows_span(process, event)) {
        process->losses.undecoded++;
        return 0;
    }
    widen_process_time(process, event->start, event->end);
    struct track *track = process_thread(process, TRACK_OVERHEAD, event->thread);
    return track ? lanes_collect(&track->lanes, event->start, event->end) : -1;
}

static int index_jit(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    if (!process_knows_span(process, event)) {
        process->losses.undecoded++;
        return 0;
    }
    widen_process_time(process, event->start, event->end);
    return compilation_jit(process->compilation, event);
}

/*
 * The order of a row: where it stands is the event's type. An event without a function is not indexed, or not written.
 */
#define GPU_OP                                      \
    {                                               \
        index_gpu_op, write_gpu_op, STARTED_BY_CALL \
    }
static const struct cupti_event_kind kinds[] = {
    [EVENT_NONE] = {NULL, NULL, NO_CALL},
    [EVENT_KERNEL] = GPU_OP,
    [EVENT_MEMCPY] = GPU_OP,
    [EVENT_MEMSET] = GPU_OP,
    [EVENT_GRAPH] = GPU_OP,
    [EVENT_API] = {NULL, write_api, ON_THREAD},
    [EVENT_SYNC] = {index_sync, write_sync, WITHIN_CALL},
    [EVENT_CUDA_EVENT] = {index_cuda_event, write_cuda_event, STARTED_BY_CALL},
    [EVENT_OVERHEAD] = {index_overhead, write_overhead, ON_THREAD},
    [EVENT_JIT] = {index_jit, NULL, WITHIN_CALL}, /* written with the phases of compilation */
    [EVENT_DEVICE] = {index_device, NULL, NO_CALL},
    [EVENT_CONTEXT] = {index_context, NULL, NO_CALL},
};

const struct cupti_event_kind *cupti_event_kind(enum event_type type)
{
    return &kinds[(size_t)type < sizeof(kinds) / sizeof(*kinds) ? type : EVENT_NONE];
}
