/*
 * Kernels, copies, sets and graph launches: the index pass counts them for their calls and rows, the resolve pass
 * finds the call of each, and the write pass makes slices with their arguments, and flows. The second half has records
 * of CUDA events and waits for them.
 */
#include "trace/meaning/gpu/gpu_ops.h"

#include <errno.h>
#include <stdio.h>

#include "common/log.h"
#include "common/multiprocessor.h"
#include "common/settings.h"
#include "trace/meaning/base/stacks.h"
#include "trace/meaning/collectives/collectives.h"
#include "trace/meaning/collectives/collectives_write.h"
#include "trace/meaning/gpu/captures.h"
#include "trace/meaning/gpu/device_ranges.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/nvtx/nvtx_names.h"
#include "trace/meaning/torch/operators.h"
#include "trace/meaning/torch/torch_launches.h"
#include "trace/spool/cupti.h"

uint32_t occupancy_blocks(const struct device *device, uint32_t threads, uint32_t registers, uint32_t shared)
{
    const struct multiprocessor multiprocessor = {
        .major = device->major,
        .warp_size = device->warp_size,
        .warps = device->max_warps_per_multiprocessor,
        .blocks = device->max_blocks_per_multiprocessor,
        .registers = device->registers_per_multiprocessor,
        .shared_bytes = device->shared_per_multiprocessor,
    };
    return multiprocessor_blocks(&multiprocessor, threads, registers, shared);
}

static double product(const int32_t size[3])
{
    return (double)size[0] * (double)size[1] * (double)size[2];
}

struct occupancy occupancy_of(const struct device *device, const struct event *kernel)
{
    struct occupancy result = {0};
    if (!device || device->multiprocessors == 0 || device->warp_size == 0)
        return result;
    double threads = product(kernel->kernel.block);
    result.blocks_per_multiprocessor = product(kernel->kernel.grid) / device->multiprocessors;
    result.warps_per_multiprocessor = result.blocks_per_multiprocessor * (threads / device->warp_size);
    if (threads < 1 || threads > 65536 || device->max_warps_per_multiprocessor == 0)
        return result;
    uint32_t held = occupancy_blocks(device, (uint32_t)threads, kernel->kernel.registers,
                                     kernel->kernel.static_shared + kernel->kernel.dynamic_shared);
    double blocks = result.blocks_per_multiprocessor < held ? result.blocks_per_multiprocessor : held;
    double filled = blocks * threads / ((double)device->max_warps_per_multiprocessor * device->warp_size);
    result.percent = (int)(100.0 * (filled > 1 ? 1 : filled < 0 ? 0 : filled) + 0.5);
    return result;
}

#define NAME_SPACE 96 /* bytes for a name that is composed */

static struct name kernel_name(const struct piece_writer *out, const struct process *process, const struct event *event,
                               char space[NAME_SPACE])
{
    uint32_t number = kernel_name_number(process, event);
    if (number != NAMES_NO_MEMORY)
        return *names_get(&out->conversion->names, number);
    int length = snprintf(space, NAME_SPACE, "unnamed kernel 0x%llx", (unsigned long long)event->kernel.name);
    return name_plain_n(space, (size_t)length);
}

static void add_gpu_place(struct args *args, const struct process *process, const struct event *event)
{
    args_u64(args, ARG_DEVICE, event->device);
    args_u64(args, ARG_CONTEXT, event->context);
    args_u64(args, ARG_STREAM, event->stream);
    args_u64(args, ARG_CORRELATION, process_correlation(process, event->correlation));
}

static void add_graph(struct args *args, const struct process *process, const struct event *event, uint32_t graph,
                      uint64_t node)
{
    const struct capture *capture = captures_find(process, node, event->correlation);
    if (graph != 0)
        args_u64(args, ARG_GRAPH, graph);
    if (node != 0)
        args_u64(args, ARG_GRAPH_NODE, node);
    if (capture && capture->context != 0)
        args_list(args, &process->captures->contexts.items[capture->context - 1].list);
}

static void add_bytes(struct args *args, const struct event *event, uint64_t bytes)
{
    uint64_t duration = event->end - event->start;
    args_u64(args, ARG_BYTES, bytes);
    args_real(args, ARG_BANDWIDTH, ARG_TYPE_FIXED, duration ? (double)bytes / (double)duration : 0);
}

static void describe_kernel(struct args *args, const struct process *process, const struct event *event)
{
    struct occupancy occupancy = occupancy_of(process_device_info(process, event->device), event);
    args_u64(args, ARG_QUEUED, event->kernel.queued);
    add_gpu_place(args, process, event);
#define NUMBER(name, text, type, field, categories, member, ...) args_u64(args, ARG_##name, event->kernel.member);
    KERNEL_NUMBERS(NUMBER)
#undef NUMBER
    uint64_t shared = (uint64_t)event->kernel.static_shared + event->kernel.dynamic_shared;
    args_u64(args, ARG_SHARED_MEMORY, shared);
    if (shared > 0)
        args_u64(args, ARG_DYNAMIC_SHARED_MEMORY, event->kernel.dynamic_shared);
    if (shared > 0 && event->kernel.executed_shared > 0)
        args_u64(args, ARG_SHARED_MEMORY_CONFIG, event->kernel.executed_shared);
    args_real(args, ARG_BLOCKS_PER_SM, ARG_TYPE_FIXED, occupancy.blocks_per_multiprocessor);
    args_real(args, ARG_WARPS_PER_SM, ARG_TYPE_FIXED, occupancy.warps_per_multiprocessor);
    args_size3(args, ARG_GRID, event->kernel.grid);
    args_size3(args, ARG_BLOCK, event->kernel.block);
    args_i64(args, ARG_OCCUPANCY, occupancy.percent);
    add_graph(args, process, event, event->kernel.graph, event->kernel.graph_node);
}

/* Sets category, name and arguments of GPU work. The name may lie in SPACE. */
static struct slice describe(const struct piece_writer *out, const struct process *process, const struct event *event,
                             struct args *args, char space[NAME_SPACE])
{
    struct slice slice = {.start = event->start, .end = event->end, .args = args};
    char *at;
    switch (event->type) {
    case EVENT_KERNEL:
        slice.category = CATEGORY_KERNEL;
        slice.name = kernel_name(out, process, event, space);
        describe_kernel(args, process, event);
        break;
    case EVENT_MEMCPY:
        slice.category = CATEGORY_GPU_MEMCPY;
        at = stpcpy(stpcpy(space, "Memcpy "), copy_kind_name(event->memcpy.kind & 15));
        at = stpcpy(stpcpy(at, " ("), memory_kind_name(event->memcpy.source & 7));
        at = stpcpy(stpcpy(stpcpy(at, " -> "), memory_kind_name(event->memcpy.target & 7)), ")");
        slice.name = name_plain_n(space, (size_t)(at - space));
        add_gpu_place(args, process, event);
        if (event->memcpy.peer) {
            args_u64(args, ARG_FROM_DEVICE, event->memcpy.source_device);
            args_u64(args, ARG_FROM_CONTEXT, event->memcpy.source_context);
            args_u64(args, ARG_TO_DEVICE, event->memcpy.target_device);
            args_u64(args, ARG_TO_CONTEXT, event->memcpy.target_context);
        }
        add_bytes(args, event, event->memcpy.bytes);
        if (event->memcpy.copies > 1)
            args_u64(args, ARG_COPIES, event->memcpy.copies);
        add_graph(args, process, event, event->memcpy.graph, event->memcpy.graph_node);
        break;
    case EVENT_MEMSET:
        slice.category = CATEGORY_GPU_MEMSET;
        at = stpcpy(stpcpy(stpcpy(space, "Memset ("), memory_kind_name(event->memset.target & 7)), ")");
        slice.name = name_plain_n(space, (size_t)(at - space));
        add_gpu_place(args, process, event);
        add_bytes(args, event, event->memset.bytes);
        args_u64(args, ARG_VALUE, event->memset.value);
        add_graph(args, process, event, event->memset.graph, event->memset.graph_node);
        break;
    default:
        slice.category = CATEGORY_GPU_GRAPH;
        int length = snprintf(space, NAME_SPACE, "CUDA Graph %u", event->graph.graph);
        slice.name = name_plain_n(space, (size_t)length);
        add_gpu_place(args, process, event);
        add_graph(args, process, event, event->graph.graph, 0);
        break;
    }
    return slice;
}

/* Returns how many GPU operations with a flow this launch had before this one. */
static uint32_t count_earlier(struct piece_writer *out, const struct process *process, uint32_t correlation)
{
    uint64_t *next = map_put(&out->gpu_ops, correlation, NULL);
    if (!next) {
        out->sink.buffer->failure = ENOMEM;
        return 0;
    }
    if (*next == 0)
        *next = (uint64_t)launches_met_before(process->launches, correlation, out->part) + 1;
    return (uint32_t)((*next)++ - 1);
}

static void write_flow_end(struct piece_writer *out, struct process *process, const struct event *event, struct row row)
{
    const struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
    if (!launch || !launch_reaches(launch, event->end))
        return;
    uint32_t earlier = launch->gpu_ops > 1 ? count_earlier(out, process, event->correlation) : 0;
    struct flow flow = {
        .id = launch_flow(process->launches, launch, event->correlation, earlier),
        .ends = true,
        .row = row,
        .time = event->start < launch->start ? launch->start : event->start, /* viewers drop a head before its tail */
    };
    if (flow.id != 0)
        out->sink.format->flow(&out->sink, &flow);
}

int index_gpu_op(struct process *process, const struct event *event)
{
    if (event->type == EVENT_KERNEL && index_kernel_name(process, event) != 0)
        return -1;
    if (process->device_ranges->any && !event->in_flight && process_knows_span(process, event))
        stream_markers_index_work(&process->device_ranges->markers, event);
    return 0;
}

int resolve_gpu_op(struct process *process, const struct event *event)
{
    struct track *stream = tracks_look(&process->tracks, &process->tracks.recent, TRACK_STREAM, event->device,
                                       event->context, event->stream);
    if (lanes_collect_own(&stream->lanes, event->start, event->end, process->part) != 0)
        return -1;
    resolve_device_gpu_op(process, event);
    return 0;
}

/* Adds the call stack of the launch; for work of a graph, that of the capture. */
static void add_stack(struct piece_writer *out, struct args *args, const struct process *process,
                      const struct event *event)
{
    const struct capture *capture = captures_find(process, gpu_op_node(event), event->correlation);
    if (capture && (stack_in_trace(process, capture->stack) != 0 || capture->line != 0)) {
        args_stack(args, process, capture->stack, ARG_CAPTURED_AT);
        if (capture->line != 0)
            args_line(args, process, capture->line_kind, capture->line - 1);
    } else if (process->stacks->calls.count > 0) {
        uint32_t number = call_stack(process, event->correlation);
        args_stack(args, process, number, ARG_CALLED_AT);
        add_forward_line(out, args, process, event, number);
        add_backward_line(args, process, event, number);
    }
}

int write_gpu_op(struct piece_writer *out, struct process *process, const struct event *event)
{
    struct track *stream = piece_writer_track(out, process, TRACK_STREAM, event->device, event->context, event->stream);
    struct collective_args collective;
    struct args args;
    char space[NAME_SPACE];
    if (!stream)
        return 0;
    args.count = 0;
    struct slice slice = describe(out, process, event, &args, space);
    add_stack(out, &args, process, event);
    const struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
    if (process->operators->any && launch && launch->from != LAUNCH_UNKNOWN)
        add_operator_around(out, &args, process, event->correlation, launch->thread, launch->start);
    if (event->type == EVENT_KERNEL && process->collectives->calls.count > 0)
        collectives_describe_kernel(&args, process, event, &out->operators, &collective);
    if (event->in_flight || !process_knows_span(process, event)) {
        /* Work without times is shown when its call ended, or at the process's end if the call is unknown. */
        slice.category = CATEGORY_GPU_IN_FLIGHT;
        slice.start = launch && launch->from != LAUNCH_UNKNOWN ? launch_end(launch) : process->last_time;
        slice.row = (struct row){stream->pid, stream->tids[0]};
        out->sink.format->instant(&out->sink, &slice);
        return 0;
    }
    out->kernels += event->type == EVENT_KERNEL;
    slice.row = track_row_own(stream, event->start, event->end, out->part);
    out->sink.format->slice(&out->sink, &slice);
    write_flow_end(out, process, event, slice.row);
    return 0;
}

int cuda_events_index(struct cuda_events *events, const struct event *event)
{
    const struct cuda_event_record record = {.event_context = event->cuda_event.event_context,
                                             .event = event->cuda_event.event,
                                             .correlation = event->correlation,
                                             .stream = event->stream,
                                             .sync_id = event->cuda_event.sync_id};
    return ADD(file_vector_push, &events->items, record) ? 0 : error_no_memory("CUDA events");
}

ORDER_BY(order, struct cuda_event_record, event, event_context, correlation)

int cuda_events_sort(struct cuda_events *events)
{
    return file_vector_sort(&events->items, order) == 0 ? 0 : error_no_memory("CUDA events");
}

const struct cuda_event_record *cuda_events_find(const struct cuda_events *events, const struct event *sync)
{
    struct cuda_event_record wanted = {
        .event_context = sync->sync.event_context, .event = sync->sync.event, .correlation = sync->correlation};
    const struct cuda_event_record *last = NULL;
    const struct cuda_event_record *items = events->items.items;
    for (size_t before = COUNT_BEFORE(events->items.count, i, order(&items[i], &wanted) < 0); before > 0; before--) {
        const struct cuda_event_record *record = &items[before - 1];
        if (record->event != wanted.event || record->event_context != wanted.event_context)
            break;
        if (!last)
            last = record;
        if (sync->sync.sync_id == 0 || record->sync_id == sync->sync.sync_id)
            return record;
    }
    return last;
}

/* Adds the name that the program gave to the CUDA event that the call of CORRELATION recorded. */
static void add_event_name(struct args *args, const struct process *process, enum arg_key key, uint32_t correlation)
{
    struct nvtx_text name = nvtx_event_name(process->nvtx, correlation);
    if (name.text)
        args_text(args, key, name.text, name.length);
}

int write_cuda_event(struct piece_writer *out, struct process *process, const struct event *event)
{
    if (event->start == 0 || !process_knows_time(process, event->start) ||
        !process_was_to_record(process, TRACE_EVENT_TIMES))
        return 0; /* only new versions of CUPTI have the device's time; device ranges request it too */
    struct event placed = *event;
    placed.device = process_device(process, event->device, event->context);
    const struct track *stream =
        piece_writer_track(out, process, TRACK_STREAM, placed.device, event->context, event->stream);
    if (!stream)
        return 0;
    struct args args = {0};
    add_gpu_place(&args, process, &placed);
    args_u64(&args, ARG_EVENT, event->cuda_event.event);
    add_event_name(&args, process, ARG_EVENT_NAME, event->correlation);
    piece_writer_instant(out, CATEGORY_CUDA_EVENT, name_plain("CUDA Event Record"), stream, event->start, &args);
    return 0;
}

static int64_t signed_stream(uint32_t stream)
{
    return stream == EVENT_NO_STREAM ? -1 : (int64_t)stream;
}

int write_sync(struct piece_writer *out, struct process *process, const struct event *event)
{
    static const char *const names[EVENT_SYNC_KIND_COUNT] = {
        [EVENT_SYNC_UNKNOWN] = "Unknown Sync",
        [EVENT_SYNC_EVENT] = "Event Sync",
        [EVENT_SYNC_STREAM_WAIT_EVENT] = "Stream Wait Event",
        [EVENT_SYNC_STREAM] = "Stream Sync",
        [EVENT_SYNC_CONTEXT] = "Context Sync",
    };
    if (!process_knows_span(process, event) || !capture_intervals_hold(process->capture_intervals, event->start))
        return 0;
    uint32_t device = process_device(process, event->device, event->context);
    struct track *track = piece_writer_track(out, process, TRACK_SYNC, device, event->context, event->stream);
    if (!track)
        return 0;
    const char *name = names[event->sync.kind];
    struct args args = {0};
    args_words(&args, ARG_SYNC_KIND, name);
    args_i64(&args, ARG_STREAM, signed_stream(event->stream));
    args_u64(&args, ARG_CORRELATION, process_correlation(process, event->correlation));
    args_u64(&args, ARG_DEVICE, device);
    args_u64(&args, ARG_CONTEXT, event->context);
    if (event->sync.kind == EVENT_SYNC_EVENT || event->sync.kind == EVENT_SYNC_STREAM_WAIT_EVENT) {
        const struct cuda_event_record *record = cuda_events_find(process->cuda_events, event);
        args_i64(&args, ARG_WAIT_ON_STREAM, record ? signed_stream(record->stream) : -1);
        if (record)
            args_u64(&args, ARG_WAIT_ON_CORRELATION, process_correlation(process, record->correlation));
        else
            args_i64(&args, ARG_WAIT_ON_CORRELATION, -1);
        args_u64(&args, ARG_WAIT_ON_EVENT, event->sync.event);
        if (record)
            add_event_name(&args, process, ARG_WAIT_ON_EVENT_NAME, record->correlation);
    }
    if (event->sync.result != 0)
        args_error(&args, ARG_RETURN_VALUE, event->sync.result, driver_error_name(event->sync.result));
    struct row row = track_row(track, event->start, event->end);
    piece_writer_slice(out, CATEGORY_CUDA_SYNC, name_plain(name), row, event->start, event->end, &args);
    return 0;
}

int index_cuda_event(struct process *process, const struct event *event)
{
    bool shown = process_was_to_record(process, TRACE_EVENT_TIMES);
    if (shown && event->start != 0 && process_knows_time(process, event->start)) {
        widen_process_time(process, event->start, event->start);
        if (!process_stream(process, TRACK_STREAM, process_device(process, event->device, event->context),
                            event->context, event->stream))
            return -1;
    }
    return process->agent_waits ? 0 : cuda_events_index(process->cuda_events, event);
}

int index_event_record(struct process *process, const struct event *event)
{
    return cuda_events_index(process->cuda_events, event);
}

/* Leaves out waits while recording was off: event_is_shown() does so for CUPTI's records, but not for the agent's. */
int index_sync(struct process *process, const struct event *event)
{
    process->cuda = true;
    if (!capture_intervals_hold(process->capture_intervals, event->start))
        return 0;
    if (!process_index_span(process, event))
        return 0;
    return tracks_put(&process->waits, TRACK_SYNC, event->device, event->context, event->stream, NULL) ? 0 : -1;
}

int resolve_sync(struct process *process, const struct event *event)
{
    uint32_t device = process_device(process, event->device, event->context);
    struct track *track = tracks_get(&process->tracks, TRACK_SYNC, device, event->context, event->stream);
    if (!track || !process_knows_span(process, event) ||
        !capture_intervals_hold(process->capture_intervals, event->start))
        return 0;
    return lanes_collect(&track->lanes, event->start, event->end);
}
