/*
 * The first walk: see conversion.h.
 */
#include "tool/convert/conversion.h"
#include "tool/convert/walks.h"
#include "tool/convert/nvtx_extensions.h"

#include "base/log.h"
#include "wire/settings.h"

void see_time(struct process *process, uint64_t start, uint64_t end)
{
    if (process->first_time == 0 || start < process->first_time)
        process->first_time = start;
    if (end > process->last_time)
        process->last_time = end;
}

static int put_name(struct process *process, struct map *map, uint64_t object, const struct event *event,
                    bool by_program)
{
    uint64_t *index = map_put(map, object, NULL);
    if (!index)
        return error_no_memory("names");
    if (*index != 0 && process->names.items[*index - 1].by_program && !by_program)
        return 0; /* the program's own word counts more */
    struct given_name *name = array_push(&process->names);
    if (!name)
        return error_no_memory("names");
    *name = (struct given_name){
        .object = object, .by_program = by_program, .text = event->text, .length = event->text_length};
    *index = process->names.count;
    return 0;
}

static int see_context_name(struct process *process, const struct event *event)
{
    const uint64_t *context = map_get(&process->context_of_handle, event->nvtx_name.object);
    return context ? put_name(process, &process->name_of_context, *context, event, true) : 0;
}

static int see_nvtx_name(struct process *process, const struct event *event)
{
    if (event->nvtx_name.what == SPOOL_NVTX_DEVICE)
        return put_name(process, &process->name_of_device, event->nvtx_name.object, event, true);
    if (event->nvtx_name.what == SPOOL_NVTX_CONTEXT)
        return see_context_name(process, event);
    if (event->nvtx_name.what != SPOOL_NVTX_STREAM)
        return nvtx_see(&process->nvtx, &process->windows, event);
    uint64_t stream = event->stream;
    if (stream == EVENT_NO_STREAM) {
        const uint64_t *known = map_get(&process->stream_of_handle, event->nvtx_name.object);
        if (!known)
            return 0;
        stream = *known - 1;
    }
    return put_name(process, &process->name_of_stream, stream, event, true);
}

/* What goes when the process ends was still there. */
static int see_context_end(struct process *process, const struct event *event)
{
    uint64_t finished = process->file.header.finished;
    if (finished != 0 && event->start >= finished)
        return 0;
    if (!process_thread(process, TRACK_THREAD, event->thread))
        return -1;
    return memory_collect(&process->memory, event);
}

static int see_context(struct process *process, const struct event *event)
{
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
    return event->object.destroyed ? see_context_end(process, event) : 0;
}

static int see_stream(struct process *process, const struct event *event)
{
    uint64_t *stream = map_put(&process->stream_of_handle, event->object.handle, NULL);
    if (!stream)
        return error_no_memory("streams");
    *stream = (uint64_t)event->stream + 1;
    return 0;
}

static int see_memory(struct conversion *conversion, struct process *process, const struct event *event)
{
    uint32_t pid;
    process->cuda = true;
    if (event->device != EVENT_NO_DEVICE && process_gpu_pid(conversion, process, event->device, &pid) != 0)
        return -1;
    if (!process_thread(process, TRACK_THREAD, event->thread))
        return -1;
    if (windows_hold(&process->windows, event->start) && stacks_want(&process->stacks, event->memory.stack) != 0)
        return -1;
    return memory_collect(&process->memory, event);
}

/* It is told by the library's own thread, which is none of the program's. */
static int see_pool(struct conversion *conversion, struct process *process, const struct event *event)
{
    uint32_t pid;
    process->cuda = true;
    if (process_gpu_pid(conversion, process, event->device, &pid) != 0)
        return -1;
    return pools_collect(&process->pools, event);
}

static int see_nvtx(struct process *process, const struct event *event)
{
    process->nvtx_seen = true;
    struct track *thread = process_thread(process, TRACK_THREAD, event->thread);
    if (!thread)
        return -1;
    /* Ranges that end with a window may cut a call. */
    if (event->nvtx.what == SPOOL_NVTX_ACQUIRE || (event->nvtx.what == SPOOL_NVTX_PUSH && process->windows.limited))
        lanes_must_collect(&thread->lanes);
    return nvtx_see(&process->nvtx, &process->windows, event);
}

/* Records that stand at a point of the time line. */
static int see_timed(struct conversion *conversion, struct process *process, const struct event *event)
{
    if (!process_knows_time(process, event->start)) {
        process->losses.undecoded++;
        return 0;
    }
    see_time(process, event->start, event->start);
    switch (event->type) {
    case EVENT_MEMORY: return see_memory(conversion, process, event);
    case EVENT_POOL: return see_pool(conversion, process, event);
    case EVENT_NVTX: return see_nvtx(process, event);
    case EVENT_PHASE: return see_phase(process, event);
    default: return process_thread(process, TRACK_THREAD, event->thread) ? 0 : -1;
    }
}

/* Of what the library recorded, and of what CUPTI did. */
static int see_sync(struct process *process, const struct event *event)
{
    if (process_knows_span(process, event))
        see_time(process, event->start, event->end);
    else
        process->losses.undecoded++;
    return 0;
}

static int see_own_sync(struct process *process, const struct event *event)
{
    process->cuda = true;
    return process_shows_own_wait(process, event) ? see_sync(process, event) : 0;
}

static int see_own(struct conversion *conversion, struct process *process, const struct event *event)
{
    switch (event->type) {
    case EVENT_POINTER_NAME: return see_pointer_name(conversion, process, event);
    case EVENT_LAUNCH_NAME: return see_launch_name(conversion, process, event);
    case EVENT_THREAD_NAME:
        return put_name(process, &process->name_of_thread, event->thread, event, event->thread_name.by_program);
    case EVENT_CONTEXT: process->cuda = true; return see_context(process, event);
    case EVENT_STREAM: process->cuda = true; return see_stream(process, event);
    case EVENT_NVTX_NAME: return 0; /* after the streams: see_late() */
    case EVENT_NVTX:
    case EVENT_MEMORY:
    case EVENT_POOL:
    case EVENT_PHASE:
    case EVENT_CAPTURE: return see_timed(conversion, process, event);
    case EVENT_SYNC: return see_own_sync(process, event);
    case EVENT_CUDA_EVENT: return cuda_events_see(&process->cuda_events, event);
    case EVENT_PLUGIN_EVENT: return see_plugin_event(process, event);
    case EVENT_PLUGIN:
    case EVENT_PLUGIN_TIME:
    case EVENT_PLUGIN_LINE: return plugins_see(&process->plugins, event);
    case EVENT_STACK:
    case EVENT_MAPPING: return stacks_see(&process->stacks, event);
    case EVENT_DEVICE_RANGE:
    case EVENT_PLUGIN_WINDOW: return 0; /* before: find_windows() */
    case EVENT_NVTX_EXTENSION: return see_nvtx_extension(process, event);
    case EVENT_DEATH:
    case EVENT_OPEN_CALL: return see_last_word(process, event);
    default: return nvtx_see(&process->nvtx, &process->windows, event);
    }
}

static int see_late(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    return event->type == EVENT_NVTX_NAME ? see_nvtx_name(process, event) : 0;
}

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

static int see_cupti(struct conversion *conversion, struct process *process, const struct event *event)
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

static void spread_ranges(void *context, uint32_t thread)
{
    struct process *process = context;
    struct track *track = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, thread);
    if (track)
        lanes_must_collect(&track->lanes);
}

int survey_process(struct conversion *conversion, struct process *process)
{
    uint64_t *undecoded = &process->losses.undecoded;
    if (find_windows(conversion, process) != 0 || device_ranges_order(&process->device_ranges) != 0 ||
        process_walk_own(conversion, process, see_own, undecoded) != 0 ||
        process_walk_own(conversion, process, see_late, NULL) != 0 ||
        process_walk_cupti(conversion, process, see_cupti, undecoded) != 0)
        return -1;
    close_kernel_names(process);
    if (close_nvtx_extensions(process) != 0)
        return -1;
    see_device_times(process);
    uint64_t finished = process->file.header.finished;
    if (process->last_time != 0 && process_knows_time(process, finished) && finished > process->last_time)
        process->last_time = finished;
    if (nvtx_close(&process->nvtx, &process->windows, process->last_time) != 0)
        return -1;
    process->losses.unmatched_ranges = process->nvtx.unmatched;
    if (nvtx_check_nesting(&process->nvtx, spread_ranges, process) != 0)
        return -1;
    if (device_ranges_close(&process->device_ranges, &process->windows, process->last_time) != 0)
        return -1;
    process->losses.untimed_ranges = process->device_ranges.untimed;
    return 0;
}
