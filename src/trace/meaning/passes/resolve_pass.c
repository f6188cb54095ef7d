/*
 * The resolve pass (passes.h).
 */
#include "common/log.h"
#include "common/settings.h"
#include "trace/meaning/collectives/collective_kernels.h"
#include "trace/meaning/collectives/collectives_write.h"
#include "trace/meaning/collectives/collectives.h"
#include "trace/meaning/gpu/captures.h"
#include "trace/meaning/gpu/gpu_ops.h"
#include "trace/meaning/gpu/device_ranges.h"
#include "trace/meaning/host/calls.h"
#include "trace/meaning/host/cpu.h"
#include "trace/meaning/host/plugins.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/memory/memory.h"
#include "trace/meaning/memory/pools.h"
#include "trace/meaning/nvtx/nvtx_counters.h"
#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/nvtx_clocks.h"
#include "trace/meaning/nvtx/nvtx_projections.h"
#include "trace/meaning/passes/parallel_scan.h"
#include "trace/meaning/passes/passes.h"
#include "trace/meaning/torch/torch_launches.h"

/* Works of a launch that has several, one after another. */
struct found_gpu_ops {
    uint32_t correlation, count;
};

/* What one part of the spool has. */
struct found {
    struct tracks_recent recent;
    ARRAY(struct found_gpu_ops) gpu_ops;
    struct projections_found ranges;
    struct collective_kernels_found kernels;
    struct compiled_found compiled;
    uint64_t unmatched, before_launch;
};

static int scan_launch(struct process *process, struct found *found, const struct event *event,
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

static int scan_gpu_op(struct process *process, struct found *found, const struct event *event)
{
    const struct track *stream =
        tracks_look(&process->tracks, &found->recent, TRACK_STREAM, event->device, event->context, event->stream);
    captures_scan(process, event);
    if (stream && collectives_scan(&found->kernels, process, event) != 0)
        return -1;
    if (!stream || event->in_flight || !process_knows_span(process, event))
        return 0;
    if (scan_launch(process, found, event, stream) != 0)
        return -1;
    return stream->lanes.collecting || process->device_ranges->any ? SCAN_DEFER : 0;
}

static int scan_event(struct process *process, void *context, const struct event *event)
{
    struct found *found = context;
    if (event_is_gpu_work(event->type))
        return scan_gpu_op(process, found, event);
    if (event->type != EVENT_API)
        return cupti_passes[event->type].resolve ? SCAN_DEFER : 0;
    const struct track *thread = tracks_look(&process->tracks, &found->recent, TRACK_THREAD, 0, 0, event->thread);
    return thread && thread->lanes.collecting && process_knows_span(process, event) ? SCAN_DEFER : 0;
}

static int join_part(struct process *process, void *context)
{
    struct found *found = context;
    int result = projections_add(&process->nvtx->projections, &found->ranges);
    result = result ?: collectives_join_found(process->collectives, &found->kernels);
    result = result ?: compiled_join(process->operators, &found->compiled);
    for (size_t i = 0; i < found->gpu_ops.count && result == 0; i++) {
        const struct found_gpu_ops *gpu_ops = &found->gpu_ops.items[i];
        result = launches_meet(process->launches, gpu_ops->correlation, process->part, gpu_ops->count);
    }
    found->gpu_ops.count = 0;
    /* Without records of API calls no flow can be whole, and none is missing. */
    uint64_t recorded = process->file.header.trace_bits, calls = TRACE_RUNTIME | TRACE_DRIVER;
    if (recorded == 0 || (recorded & calls) == calls)
        process->losses.unmatched_flows += found->unmatched;
    process->losses.before_launch += found->before_launch;
    found->unmatched = found->before_launch = 0;
    return result;
}

static void release(void *context)
{
    struct found *found = context;
    array_release(&found->gpu_ops);
    projections_found_release(&found->ranges);
    collective_kernels_found_release(&found->kernels);
    compiled_found_release(&found->compiled);
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
    static const struct scan matching = {.found_size = sizeof(struct found),
                                         .scan = scan_event,
                                         .join = join_part,
                                         .release = release,
                                         .visit = resolve_deferred_event};
    if (resolve_deferred(process) != 0 || resolve_counters(process) != 0 || resolve_device_ranges(process) != 0 ||
        projections_begin(process->nvtx) != 0 || captures_resolve(process) != 0 || collectives_find(process) != 0 ||
        collectives_join_tasks(process) != 0 || collectives_number(process->collectives) != 0 ||
        parallel_scan(process, &matching, NULL) != 0 || collectives_share(process) != 0 ||
        compiled_order(process->operators) != 0)
        return -1;
    /* Ranges of push and pop, and waiting for synchronisation objects. */
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
    /* A row of ranges for each stream that has any. */
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
