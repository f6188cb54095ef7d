/*
 * The first walk (conversion.h): its order, and what both the library and CUPTI record.
 */
#include "common/log.h"
#include "common/settings.h"
#include "trace/build/compilation.h"
#include "trace/build/crashes.h"
#include "trace/build/cuda_events.h"
#include "trace/build/device_ranges.h"
#include "trace/build/event_filter.h"
#include "trace/build/kernel_names.h"
#include "trace/build/memory.h"
#include "trace/build/nvtx.h"
#include "trace/build/nvtx_extensions.h"
#include "trace/build/parallel_scan.h"
#include "trace/build/passes.h"
#include "trace/build/plugins.h"
#include "trace/build/pools.h"
#include "trace/build/session.h"
#include "trace/build/stacks.h"
#include "trace/spool/cuda_names.h"
#include "common/spool_records.h"
#include "common/spool.h"

/* What goes when the process ends was still there. */
static int see_context_end(struct process *process, const struct event *event)
{
    uint64_t finished = process->file.header.finished;
    if (finished != 0 && event->start >= finished)
        return 0;
    if (!process_thread(process, TRACK_THREAD, event->thread))
        return -1;
    return memory_collect(process->memory, event);
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

static int see_sync(struct process *process, const struct event *event)
{
    if (!process_knows_span(process, event)) {
        process->losses.undecoded++;
        return 0;
    }
    see_time(process, event->start, event->end);
    return tracks_put(&process->waits, TRACK_SYNC, event->device, event->context, event->stream, NULL) ? 0 : -1;
}

/*
 * The first walk, over the library's own records: rows of threads, allocations, NVTX, waits, and what the library has
 * told about the program, its plugins and itself.
 */

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
    if (windows_hold(process->windows, event->start) && stacks_want(process->stacks, event->memory.stack) != 0)
        return -1;
    return memory_collect(process->memory, event);
}

/* It is told by the library's own thread, which is none of the program's. */
static int see_pool(struct conversion *conversion, struct process *process, const struct event *event)
{
    uint32_t pid;
    process->cuda = true;
    if (process_gpu_pid(conversion, process, event->device, &pid) != 0)
        return -1;
    return pools_collect(process->pools, event);
}

static int see_nvtx(struct process *process, const struct event *event)
{
    process->nvtx_seen = true;
    process->nvtx_wanted |= event->nvtx.what != SPOOL_NVTX_END; /* nvtxRangeEnd() is of no domain */
    struct track *thread = process_thread(process, TRACK_THREAD, event->thread);
    if (!thread)
        return -1;
    /* Ranges that end with a window may cut a call. */
    if (event->nvtx.what == SPOOL_NVTX_ACQUIRE || (event->nvtx.what == SPOOL_NVTX_PUSH && process->windows->limited))
        lanes_must_collect(&thread->lanes);
    return nvtx_see(process->nvtx, process->windows, event);
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
    case EVENT_FUNCTION_NAME: return see_function_name(conversion, process, event);
    case EVENT_GRAPH_NODE: return see_graph_node(process, event);
    case EVENT_GRAPH_LAUNCH: return conditional_launches_see(process->conditional, event);
    case EVENT_THREAD_NAME: return see_thread_name(process, event);
    case EVENT_CONTEXT: process->cuda = true; return see_context(process, event);
    case EVENT_STREAM: process->cuda = true; return see_stream(process, event);
    case EVENT_NVTX_NAME: return 0; /* once all streams are known: see_late() */
    case EVENT_NVTX:
    case EVENT_MEMORY:
    case EVENT_POOL:
    case EVENT_PHASE:
    case EVENT_CAPTURE: return see_timed(conversion, process, event);
    case EVENT_SYNC: return see_own_sync(process, event);
    case EVENT_SEEN: return see_seen(conversion, event);
    case EVENT_CUDA_EVENT: return cuda_events_see(process->cuda_events, event);
    case EVENT_PLUGIN_EVENT: return see_plugin_event(process, event);
    case EVENT_PLUGIN:
    case EVENT_PLUGIN_TIME:
    case EVENT_PLUGIN_LINE: return plugins_see(process->plugins, event);
    case EVENT_STACK:
    case EVENT_MAPPING: return stacks_see(process->stacks, event);
    case EVENT_DEVICE_RANGE:
    case EVENT_PLUGIN_WINDOW: return 0; /* before: find_windows() */
    case EVENT_NVTX_EXTENSION: return see_nvtx_extension(process, event);
    case EVENT_DEATH:
    case EVENT_OPEN_CALL: return see_last_word(process, event);
    default: return nvtx_see(process->nvtx, process->windows, event);
    }
}

/*
 * The first walk, over CUPTI's records: which call started which work, rows of streams, and which rows need lanes.
 */

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
    if (!thread->lanes.collecting && !nvtx_fits(process->nvtx, &found->places, event->thread, event->start, event->end))
        lanes_must_collect(&thread->lanes);
    return event->correlation ? launches_call(process->launches, event) : 0;
}

/* Whether the work's name, or its time among others, has to be seen. */
static bool is_to_be_seen(const struct process *process, const struct event *event)
{
    return process->device_ranges->any || (event->type == EVENT_KERNEL && !kernel_name_is_settled(process, event));
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
        if (event->correlation && launches_work(process->launches, event->correlation) != 0)
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
    if (process->device_ranges->any && !event->in_flight && process_knows_span(process, event))
        device_ranges_work(process->device_ranges, event);
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
    return process->own_waits ? 0 : cuda_events_see(process->cuda_events, event);
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
    return compilation_jit(process->compilation, event);
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
               ? conditional_launches_look(process->conditional, event)
               : 0;
}

/* Before all other walks, which show works by their launches. */
static int survey_conditional_launches(struct conversion *conversion, struct process *process)
{
    static const struct sift graphs = {.all = true, .look = look_at_graphs};
    if (process->conditional->items.count == 0)
        return 0;
    if (conditional_launches_order(process->conditional) != 0 || process_sift(conversion, process, &graphs, NULL) != 0)
        return -1;
    conditional_launches_finish(process->conditional);
    return 0;
}

static int survey_cupti(struct conversion *conversion, struct process *process, uint64_t *undecoded)
{
    static const struct sift survey = {
        .found_size = sizeof(struct found), .look = look, .take = take, .release = release, .see = see};
    if (survey_conditional_launches(conversion, process) != 0)
        return -1;
    return process_sift(conversion, process, &survey, undecoded);
}

/* --- before all: when recording was on, and which calls count --- */

static int see_window(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    if (event->type == EVENT_CAPTURE)
        return windows_mark(process->windows, event);
    if (event->type == EVENT_DEVICE_RANGE)
        return see_device_range(process, event);
    process->own_waits |= event->type == EVENT_SYNC;
    if (event->type != EVENT_PLUGIN_WINDOW)
        return 0;
    if (process_knows_span(process, event))
        return plugin_windows_add(process->plugin_windows, event->thread, event->start, event->end);
    process->losses.undecoded++;
    return 0;
}

/* Where recording was off at times, or plugins called CUDA, GPU work is shown by its call: all calls come before all
 * work. */
static int look_at_call(struct process *process, void *found, const struct event *event)
{
    (void)found;
    if (event->type == EVENT_CUDA_EVENT)
        return SIFT_PUT_OFF;
    if (event->type != EVENT_API || event->correlation == 0 || !process_knows_span(process, event))
        return 0;
    if (call_is_plugins(process, event))
        return launches_aside(process->launches, event);
    if (!process_shows(process, event))
        return 0;
    unsigned sorts = plugin_windows_any(process->plugin_windows) ? api_sorts(event->api.domain, event->api.cbid) : 0;
    if (launches_starts(process->launches, event->correlation, sorts) != 0)
        return -1;
    return launches_call(process->launches, event);
}

static int see_moment(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    see_device_moment(process, event);
    return 0;
}

static int find_windows(struct conversion *conversion, struct process *process)
{
    static const struct sift calls = {.all = true, .look = look_at_call, .see = see_moment};
    if (process_walk_own(conversion, process, see_window, NULL) != 0)
        return -1;
    if (windows_close(process->windows) != 0 || plugin_windows_close(process->plugin_windows) != 0 ||
        device_ranges_list(process->device_ranges) != 0)
        return -1;
    if (!process->windows->limited && !has_calls_aside(process))
        return 0;
    return process_sift(conversion, process, &calls, NULL);
}

/* --- the pass --- */

static int see_context_name(struct process *process, const struct event *event)
{
    const uint64_t *context = map_get(&process->context_of_handle, event->nvtx_name.object);
    return context ? put_given_name(process, &process->name_of_context, *context, event, true) : 0;
}

static int see_nvtx_name(struct process *process, const struct event *event)
{
    if (event->nvtx_name.what == SPOOL_NVTX_DEVICE)
        return put_given_name(process, &process->name_of_device, event->nvtx_name.object, event, true);
    if (event->nvtx_name.what == SPOOL_NVTX_CONTEXT)
        return see_context_name(process, event);
    if (event->nvtx_name.what != SPOOL_NVTX_STREAM)
        return nvtx_see(process->nvtx, process->windows, event);
    uint64_t stream = event->stream;
    if (stream == EVENT_NO_STREAM) {
        const uint64_t *known = map_get(&process->stream_of_handle, event->nvtx_name.object);
        if (!known)
            return 0;
        stream = *known - 1;
    }
    return put_given_name(process, &process->name_of_stream, stream, event, true);
}

/* Rows of waits, once it is known which device a context is of. */
static int place_waits(struct conversion *conversion, struct process *process)
{
    for (size_t i = 0; i < process->waits.items.count; i++) {
        const struct track *wait = process->waits.items.items[i];
        uint32_t device = process_device(process, wait->device, wait->context);
        if (!process_stream(conversion, process, TRACK_SYNC, device, wait->context, wait->number))
            return -1;
    }
    tracks_release(&process->waits);
    process->waits = (struct tracks){0};
    return 0;
}

static int see_late(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    return event->type == EVENT_NVTX_NAME ? see_nvtx_name(process, event) : 0;
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
    if (find_windows(conversion, process) != 0 || device_ranges_order(process->device_ranges) != 0 ||
        process_walk_own(conversion, process, see_own, undecoded) != 0 ||
        process_walk_own(conversion, process, see_late, NULL) != 0 || order_kernel_names(process) != 0 ||
        survey_cupti(conversion, process, undecoded) != 0 || place_waits(conversion, process) != 0)
        return -1;
    close_kernel_names(process);
    if (close_nvtx_extensions(process) != 0)
        return -1;
    see_device_times(process);
    uint64_t finished = process->file.header.finished;
    if (process->last_time != 0 && process_knows_time(process, finished) && finished > process->last_time)
        process->last_time = finished;
    if (nvtx_close(process->nvtx, process->windows, process->last_time) != 0)
        return -1;
    process->losses.unmatched_ranges = process->nvtx->unmatched;
    if (nvtx_check_nesting(process->nvtx, spread_ranges, process) != 0)
        return -1;
    if (device_ranges_close(process->device_ranges, process->windows, process->last_time) != 0)
        return -1;
    process->losses.untimed_ranges = process->device_ranges->untimed;
    return 0;
}
