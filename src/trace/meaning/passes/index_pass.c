/*
 * The index pass and the resolve pass (passes.h): their order, and what several threads scan in CUPTI's records.
 */
#include "common/log.h"
#include "common/settings.h"
#include "trace/meaning/base/stacks.h"
#include "trace/meaning/collectives/collective_kernels.h"
#include "trace/meaning/collectives/collectives.h"
#include "trace/meaning/collectives/collectives_write.h"
#include "trace/meaning/gpu/captures.h"
#include "trace/meaning/gpu/device_ranges.h"
#include "trace/meaning/gpu/gpu_ops.h"
#include "trace/meaning/host/calls.h"
#include "trace/meaning/host/cpu.h"
#include "trace/meaning/host/plugins.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/memory/memory.h"
#include "trace/meaning/memory/pools.h"
#include "trace/meaning/nvtx/nvtx.h"
#include "trace/meaning/nvtx/nvtx_clocks.h"
#include "trace/meaning/nvtx/nvtx_counters.h"
#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/nvtx_projections.h"
#include "trace/meaning/passes/parallel_scan.h"
#include "trace/meaning/passes/passes.h"
#include "trace/meaning/torch/operators.h"
#include "trace/meaning/torch/torch_launches.h"

/* --- devices, contexts, streams, threads --- */

int index_device(struct process *process, const struct event *event)
{
    if (process_device_info(process, event->device_info.id))
        return 0;
    return ADD(array_push, &process->devices, event->device_info) ? 0 : error_no_memory("devices");
}

int index_context(struct process *process, const struct event *event)
{
    process->cuda = true;
    uint64_t *device = map_put(&process->device_of_context, event->context, NULL);
    if (!device)
        return error_no_memory("contexts");
    if (event->device != EVENT_NO_DEVICE)
        *device = (uint64_t)event->device + 1;
    if (event->object.handle != 0 && !map_set(&process->context_of_handle, event->object.handle, event->context))
        return error_no_memory("contexts");
    uint64_t finished = process->file.header.finished;
    if (!event->object.destroyed || (finished != 0 && event->start >= finished))
        return 0; /* contexts that are destroyed with the process kept their allocations until then */
    if (!process_thread(process, TRACK_THREAD, event->thread))
        return -1;
    return memory_collect(process->memory, event);
}

int index_stream(struct process *process, const struct event *event)
{
    process->cuda = true;
    if (!map_set(&process->stream_of_handle, event->object.handle, (uint64_t)event->stream + 1))
        return error_no_memory("streams");
    return map_put(&process->graph_streams->made, event->stream, NULL) ? 0 : error_no_memory("streams of graphs");
}

int index_thread_name(struct process *process, const struct event *event)
{
    const struct spool_thread_name *name = event->record;
    bool by_program = name->head.flags == SPOOL_THREAD_NAME_NVTX;
    return put_given_name(process, &process->name_of_thread, event->thread, event, by_program);
}

int index_graph_launch(struct process *process, const struct event *event)
{
    return conditional_launches_index(process->conditional, event);
}

int index_nvtx(struct process *process, const struct event *event)
{
    if (!process_index_span(process, event))
        return 0;
    process->nvtx_seen = true;
    process->nvtx_wanted |= event->nvtx.what != SPOOL_NVTX_END; /* nvtxRangeEnd() has no domain */
    struct track *thread = process_thread(process, TRACK_THREAD, event->thread);
    if (!thread)
        return -1;
    /* Ranges that are ended when recording stops may cut a call. */
    if (event->nvtx.what == SPOOL_NVTX_ACQUIRE ||
        (event->nvtx.what == SPOOL_NVTX_PUSH && process->capture_intervals->limited))
        lanes_must_collect(&thread->lanes);
    return nvtx_index(process->nvtx, process->capture_intervals, event);
}

int index_nvtx_name(struct process *process, const struct event *event)
{
    return nvtx_index(process->nvtx, process->capture_intervals, event);
}

/* --- CUPTI's records: which call started which operation, rows of streams, and which rows need lanes --- */

/* What a thread found in one part of the spool. */
struct found {
    struct tracks tracks;      /* threads and streams; their lanes notice overlaps */
    struct nvtx_places places; /* where searches in the ranges of the part's threads ended */
    struct graph_streams graphs;
    uint64_t first_time, last_time; /* ns; 0: no event */
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

static int scan_api(struct process *process, struct found *found, const struct event *event)
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

static int scan_gpu_op(struct process *process, struct found *found, const struct event *event)
{
    struct track *stream = tracks_put(&found->tracks, TRACK_STREAM, event->device, event->context, event->stream, NULL);
    if (!stream || graph_streams_index(&found->graphs, stream, event) != 0)
        return -1;
    if (event->in_flight || !process_knows_span(process, event)) {
        found->in_flight += event->in_flight;
        found->zero_time += !event->in_flight;
    } else {
        widen(found, event);
        lanes_see(&stream->lanes, event->start, event->end);
        if (event->correlation && launches_gpu_op(process->launches, event->correlation) != 0)
            return -1;
    }
    /* Device ranges need the operation's time, kernel_names its name: both need the order of parts. */
    bool named = event->type != EVENT_KERNEL || kernel_name_is_settled(process, event);
    return process->device_ranges->any || !named ? SCAN_DEFER : 0;
}

static int scan_event(struct process *process, void *context, const struct event *event)
{
    struct found *found = context;
    found->any = true;
    if (event->type == EVENT_API)
        return scan_api(process, found, event);
    return event_is_gpu_work(event->type) ? scan_gpu_op(process, found, event) : SCAN_DEFER;
}

static void release(void *context)
{
    struct found *found = context;
    tracks_release(&found->tracks);
    graph_streams_release(&found->graphs);
}

static int join_part(struct process *process, void *context)
{
    struct found *found = context;
    int result = 0;
    process->cuda |= found->any;
    process->losses.undecoded += found->undecoded;
    process->losses.in_flight += found->in_flight;
    process->losses.zero_time += found->zero_time;
    if (found->first_time != 0)
        widen_process_time(process, found->first_time, found->last_time);
    for (size_t i = 0; i < found->tracks.items.count && result == 0; i++) {
        const struct track *part = found->tracks.items.items[i];
        struct track *track = NULL;
        /* Contexts created before recording began have no record of their own. */
        if (part->kind == TRACK_THREAD)
            track = process_thread(process, TRACK_THREAD, part->number);
        else if (map_set(&process->device_of_context, part->context, (uint64_t)part->device + 1))
            track = process_stream(process, TRACK_STREAM, part->device, part->context, part->number);
        else
            error_no_memory("contexts");
        if (track)
            lanes_append(&track->lanes, &part->lanes);
        else
            result = -1;
    }
    result = result ?: graph_streams_join(process, &found->graphs, &found->tracks);
    release(found);
    *found = (struct found){0};
    return result;
}

static int index_deferred(struct process *process, const struct event *event)
{
    const struct event_passes *passes = &cupti_passes[event->type];
    return passes->index ? passes->index(process, event) : 0;
}

static int index_agent_record(struct process *process, const struct event *event)
{
    const struct event_passes *passes = &agent_passes[event->type];
    return passes->index ? passes->index(process, event) : 0;
}

static int scan_graphs(struct process *process, void *context, const struct event *event)
{
    (void)context;
    return event_is_gpu_work(event->type) && process_knows_span(process, event)
               ? conditional_launches_scan(process->conditional, event)
               : 0;
}

/* Precedes all other walks: these find out by its launch whether a GPU operation is shown. */
static int index_conditional_launches(struct process *process)
{
    static const struct scan graphs = {.all = true, .scan = scan_graphs};
    if (process->conditional->items.count == 0)
        return 0;
    if (conditional_launches_order(process->conditional) != 0 || parallel_scan(process, &graphs, NULL) != 0)
        return -1;
    conditional_launches_finish(process->conditional);
    return 0;
}

/* --- before all: when recording was on, and which calls count --- */

static int index_window(struct process *process, const struct event *event)
{
    if (event->type == EVENT_CAPTURE)
        return capture_intervals_mark(process->capture_intervals, event);
    if (event->type == EVENT_DEVICE_RANGE)
        return index_device_range(process, event);
    process->agent_waits |= event->type == EVENT_SYNC;
    if (event->type != EVENT_PLUGIN_WINDOW)
        return 0;
    if (process_knows_span(process, event))
        return plugin_intervals_add(process->plugin_intervals, event->thread, event->start, event->end);
    process->losses.undecoded++;
    return 0;
}

/* If recording was off at times, or plugins called CUDA, a GPU operation is shown if its call is: so all calls are
 * scanned before all GPU work. */
static int scan_call(struct process *process, void *found, const struct event *event)
{
    (void)found;
    if (event->type == EVENT_CUDA_EVENT)
        return SCAN_DEFER;
    if (event->type != EVENT_API || event->correlation == 0 || !process_knows_span(process, event))
        return 0;
    if (call_is_plugins(process, event))
        return launches_suppress(process->launches, event);
    if (!event_is_shown(process, event))
        return 0;
    unsigned sorts =
        plugin_intervals_any(process->plugin_intervals) ? api_sorts(event->api.domain, event->api.cbid) : 0;
    if (launches_starts(process->launches, event->correlation, sorts) != 0)
        return -1;
    return launches_call(process->launches, event);
}

static int find_capture_intervals(struct process *process)
{
    static const struct scan calls = {.all = true, .scan = scan_call, .visit = index_stream_marker};
    if (process_walk_agent_records(process, index_window, NULL) != 0)
        return -1;
    if (capture_intervals_close(process->capture_intervals) != 0 ||
        plugin_intervals_close(process->plugin_intervals) != 0 ||
        stream_markers_list(&process->device_ranges->markers) != 0)
        return -1;
    if (!process->capture_intervals->limited && !has_suppressed_calls(process))
        return 0;
    return parallel_scan(process, &calls, NULL);
}

static int index_given_name(struct process *process, const struct event *event)
{
    if (event->type != EVENT_NVTX_NAME)
        return 0;
    if (event->nvtx_name.what == SPOOL_NVTX_DEVICE)
        return put_given_name(process, &process->name_of_device, event->nvtx_name.object, event, true);
    if (event->nvtx_name.what == SPOOL_NVTX_CONTEXT) {
        const uint64_t *context = map_get(&process->context_of_handle, event->nvtx_name.object);
        return context ? put_given_name(process, &process->name_of_context, *context, event, true) : 0;
    }
    if (event->nvtx_name.what != SPOOL_NVTX_STREAM)
        return nvtx_index(process->nvtx, process->capture_intervals, event);
    uint64_t stream = event->stream;
    if (stream == EVENT_NO_STREAM) {
        const uint64_t *known = map_get(&process->stream_of_handle, event->nvtx_name.object);
        if (!known)
            return 0;
        stream = *known - 1;
    }
    return put_given_name(process, &process->name_of_stream, stream, event, true);
}

static void spread_ranges(void *context, uint32_t thread)
{
    struct process *process = context;
    struct track *track = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, thread);
    if (track)
        lanes_must_collect(&track->lanes);
}

int index_process(struct process *process)
{
    static const struct scan indexing = {.found_size = sizeof(struct found),
                                         .scan = scan_event,
                                         .join = join_part,
                                         .release = release,
                                         .visit = index_deferred};
    uint64_t *undecoded = &process->losses.undecoded;
    if (find_capture_intervals(process) != 0 || stream_markers_order(&process->device_ranges->markers) != 0 ||
        process_walk_agent_records(process, index_agent_record, undecoded) != 0 ||
        process_walk_agent_records(process, index_given_name, NULL) != 0 ||
        graph_nodes_order(&process->kernel_names->nodes) != 0 || operators_match_ends(process) != 0 ||
        order_call_stacks(process) != 0 || index_conditional_launches(process) != 0 ||
        parallel_scan(process, &indexing, undecoded) != 0)
        return -1;
    /* Rows of waits: now the device of each context is known. */
    for (size_t i = 0; i < process->waits.items.count; i++) {
        const struct track *wait = process->waits.items.items[i];
        uint32_t device = process_device(process, wait->device, wait->context);
        if (!process_stream(process, TRACK_SYNC, device, wait->context, wait->number))
            return -1;
    }
    tracks_release(&process->waits);
    process->waits = (struct tracks){0};
    if (graph_streams_fold(process) != 0)
        return -1;
    close_kernel_names(process);
    if (index_nvtx_extensions_end(process) != 0)
        return -1;
    index_device_times(process);
    uint64_t finished = process->file.header.finished;
    if (process->last_time != 0 && process_knows_time(process, finished) && finished > process->last_time)
        process->last_time = finished;
    if (nvtx_close(process->nvtx, process->capture_intervals, process->last_time) != 0)
        return -1;
    if (operators_link(process) != 0)
        return -1;
    process->losses.unmatched_ranges = process->nvtx->unmatched;
    if (nvtx_check_nesting(process->nvtx, spread_ranges, process) != 0)
        return -1;
    if (device_ranges_close(process->device_ranges, process->capture_intervals, process->last_time) != 0)
        return -1;
    process->losses.untimed_ranges = process->device_ranges->untimed;
    return 0;
}

/* --- the resolve pass --- */

/* Consecutive GPU operations of a launch that has several. */
struct found_gpu_ops {
    uint32_t correlation, count;
};

/* What a thread found in one part of the spool. */
struct resolved_part {
    struct tracks_recent recent;
    ARRAY(struct found_gpu_ops) gpu_ops;
    struct projections_found ranges;
    struct collective_kernels_found kernels;
    struct compiled_found compiled;
    uint64_t unmatched, before_launch;
};

static int resolve_scan_launch(struct process *process, struct resolved_part *found, const struct event *event,
                               const struct track *stream)
{
    struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
    if (!launch || launch->from == LAUNCH_UNKNOWN) {
        found->unmatched++;
        return 0;
    }
    found->before_launch += event->start < launch->start;
    if (launch_reach(launch, event->end) == LAUNCH_REACHES_SEVERAL) {
        size_t count = found->gpu_ops.count;
        bool is_new = count == 0 || found->gpu_ops.items[count - 1].correlation != event->correlation;
        if (is_new && !ADD(array_push, &found->gpu_ops, ((struct found_gpu_ops){event->correlation, 0})))
            return error_no_memory("the table of launches");
        found->gpu_ops.items[found->gpu_ops.count - 1].count++;
    }
    if (nvtx_range_count(process->nvtx) == 0)
        return 0;
    if (compiled_scan(&found->compiled, process, event, launch) != 0)
        return -1;
    return projections_find(&found->ranges, &process->nvtx->projections, launch->thread, launch->start, stream->index,
                            event->start, event->end);
}

static int resolve_scan_gpu_op(struct process *process, struct resolved_part *found, const struct event *event)
{
    const struct track *stream =
        tracks_look(&process->tracks, &found->recent, TRACK_STREAM, event->device, event->context, event->stream);
    captures_scan(process, event);
    if (stream && collectives_scan(&found->kernels, process, event) != 0)
        return -1;
    if (!stream || event->in_flight || !process_knows_span(process, event))
        return 0;
    if (resolve_scan_launch(process, found, event, stream) != 0)
        return -1;
    return stream->lanes.collecting || process->device_ranges->any ? SCAN_DEFER : 0;
}

static int resolve_scan(struct process *process, void *context, const struct event *event)
{
    struct resolved_part *found = context;
    if (event_is_gpu_work(event->type))
        return resolve_scan_gpu_op(process, found, event);
    if (event->type != EVENT_API)
        return cupti_passes[event->type].resolve ? SCAN_DEFER : 0;
    const struct track *thread = tracks_look(&process->tracks, &found->recent, TRACK_THREAD, 0, 0, event->thread);
    return thread && thread->lanes.collecting && process_knows_span(process, event) ? SCAN_DEFER : 0;
}

static int resolve_join(struct process *process, void *context)
{
    struct resolved_part *found = context;
    int result = projections_add(&process->nvtx->projections, &found->ranges);
    result = result ?: collectives_join_found(process->collectives, &found->kernels);
    result = result ?: compiled_join(process->operators, &found->compiled);
    for (size_t i = 0; i < found->gpu_ops.count && result == 0; i++) {
        const struct found_gpu_ops *gpu_ops = &found->gpu_ops.items[i];
        result = launches_meet(process->launches, gpu_ops->correlation, process->part, gpu_ops->count);
    }
    found->gpu_ops.count = 0;
    /* Unless all API calls were recorded, GPU operations without a call are no loss. */
    uint64_t recorded = process->file.header.trace_bits, calls = TRACE_RUNTIME | TRACE_DRIVER;
    if (recorded == 0 || (recorded & calls) == calls)
        process->losses.unmatched_flows += found->unmatched;
    process->losses.before_launch += found->before_launch;
    found->unmatched = found->before_launch = 0;
    return result;
}

static void resolve_release(void *context)
{
    struct resolved_part *found = context;
    array_release(&found->gpu_ops);
    array_release(&found->ranges.items);
    collective_kernels_found_release(&found->kernels);
    array_release(&found->compiled.items);
}

static int resolve_deferred_event(struct process *process, const struct event *event)
{
    return cupti_passes[event->type].resolve(process, event);
}

static int resolve_agent_record(struct process *process, const struct event *event)
{
    return agent_passes[event->type].resolve ? agent_passes[event->type].resolve(process, event) : 0;
}

static int resolve_host(struct process *process, uint32_t number, uint64_t start, uint64_t end)
{
    struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, number);
    return thread ? lanes_collect(&thread->lanes, start, end) : 0;
}

int resolve_process(struct process *process)
{
    static const struct scan matching = {.found_size = sizeof(struct resolved_part),
                                         .scan = resolve_scan,
                                         .join = resolve_join,
                                         .release = resolve_release,
                                         .visit = resolve_deferred_event};
    if (resolve_deferred(process) != 0 || resolve_counters(process) != 0 || resolve_device_ranges(process) != 0 ||
        projections_begin(process->nvtx) != 0 || captures_resolve(process) != 0 || collectives_find(process) != 0 ||
        collectives_join_tasks(process) != 0 || collectives_number(process->collectives) != 0 ||
        parallel_scan(process, &matching, NULL) != 0 || collectives_share(process) != 0 ||
        compiled_order(process->operators) != 0)
        return -1;
    /* Ranges of push and pop, and waits for synchronisation objects, need lanes on their threads. */
    for (size_t i = 0; i < process->nvtx->ranges.count; i++) {
        const struct nvtx_range *range = &process->nvtx->ranges.items[i];
        if (resolve_host(process, range->thread, range->start, range->end) != 0)
            return -1;
        process_passed(process, i);
    }
    for (size_t i = 0; i < process->nvtx->syncs.waits.count; i++) {
        const struct nvtx_sync_span *wait = &process->nvtx->syncs.waits.items[i];
        if (resolve_host(process, wait->thread, wait->start, wait->end) != 0)
            return -1;
    }
    /* Each stream with NVTX ranges gets a row for them. */
    if (projections_finish(process->nvtx) != 0)
        return -1;
    for (size_t i = 0; i < process->nvtx->projections.items.count; i++) {
        const struct projection *projection = &process->nvtx->projections.items.items[i];
        const struct track *stream = process->tracks.items.items[projection->track];
        struct track *track =
            process_stream(process, TRACK_ANNOTATION, stream->device, stream->context, stream->number);
        if (!track || lanes_collect(&track->lanes, projection->start, projection->end) != 0)
            return -1;
        process_passed(process, i);
    }
    if (resolve_compilation(process) != 0 || resolve_plugins(process) != 0 || resolve_cpu_stacks(process) != 0)
        return -1;
    if (process->agent_waits && process_walk_agent_records(process, resolve_agent_record, NULL) != 0)
        return -1;
    if (memory_sort(process->memory) != 0 || cuda_events_sort(process->cuda_events) != 0)
        return -1;
    process_evict(process);
    return tracks_number(&process->tracks, &process->conversion->rows);
}
