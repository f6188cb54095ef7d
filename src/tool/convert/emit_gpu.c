/*
 * Work of GPUs, what is told about it on its rows, and the heads of arrows.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "tool/convert/conversion.h"
#include "tool/decode/memory_names.h"
#include "tool/model/occupancy.h"
#include "wire/settings.h"

static struct name name_by_cache(struct conversion *conversion, uint32_t *cached, const char *text)
{
    if (*cached == 0) {
        uint32_t number = names_put(&conversion->names, text, strlen(text));
        if (number == NAMES_NO_MEMORY)
            return name_passing("", 0);
        *cached = number + 1;
    }
    return *names_get(&conversion->names, *cached - 1);
}

struct name kept_name(struct conversion *conversion, const char *text)
{
    uint32_t number = 0;
    return name_by_cache(conversion, &number, text);
}

static struct name kernel_name(struct conversion *conversion, const struct process *process, const struct event *event)
{
    uint32_t number = pointer_names_find(&process->symbols, event->kernel.name, event->start);
    if (number != NAMES_NO_MEMORY)
        return *names_get(&conversion->names, number);
    char text[64];
    snprintf(text, sizeof(text), "unnamed kernel 0x%llx", (unsigned long long)event->kernel.name);
    return kept_name(conversion, text);
}

static struct name copy_name(struct conversion *conversion, const struct event *event)
{
    unsigned kind = event->memcpy.kind & 15, source = event->memcpy.source & 7, target = event->memcpy.target & 7;
    uint32_t *cached = &conversion->caches.copy[kind][source][target];
    char text[96] = "";
    if (*cached == 0)
        snprintf(text, sizeof(text), "Memcpy %s (%s -> %s)", copy_kind_name(kind), memory_kind_name(source),
                 memory_kind_name(target));
    return name_by_cache(conversion, cached, text);
}

static struct name set_name(struct conversion *conversion, const struct event *event)
{
    unsigned target = event->memset.target & 7;
    char text[64];
    snprintf(text, sizeof(text), "Memset (%s)", memory_kind_name(target));
    return name_by_cache(conversion, &conversion->caches.set[target], text);
}

static void add_place(struct args *args, const struct process *process, const struct event *event)
{
    args_u64(args, ARG_DEVICE, event->device);
    args_u64(args, ARG_CONTEXT, event->context);
    args_u64(args, ARG_STREAM, event->stream);
    args_u64(args, ARG_CORRELATION, process_correlation(process, event->correlation));
}

static void add_graph(struct args *args, uint32_t graph, uint64_t node)
{
    if (graph != 0)
        args_u64(args, ARG_GRAPH, graph);
    if (node != 0)
        args_u64(args, ARG_GRAPH_NODE, node);
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
    add_place(args, process, event);
    args_u64(args, ARG_REGISTERS, event->kernel.registers);
    args_u64(args, ARG_SHARED_MEMORY, (uint64_t)event->kernel.static_shared + event->kernel.dynamic_shared);
    args_real(args, ARG_BLOCKS_PER_SM, ARG_TYPE_FIXED, occupancy.blocks_per_multiprocessor);
    args_real(args, ARG_WARPS_PER_SM, ARG_TYPE_FIXED, occupancy.warps_per_multiprocessor);
    args_add(args, ARG_GRID, ARG_TYPE_SIZE3)->size3 = event->kernel.grid;
    args_add(args, ARG_BLOCK, ARG_TYPE_SIZE3)->size3 = event->kernel.block;
    args_i64(args, ARG_OCCUPANCY, occupancy.percent);
    add_graph(args, event->kernel.graph, event->kernel.graph_node);
}

static void describe_copy(struct args *args, const struct process *process, const struct event *event)
{
    add_place(args, process, event);
    if (event->memcpy.peer) {
        args_u64(args, ARG_FROM_DEVICE, event->memcpy.source_device);
        args_u64(args, ARG_FROM_CONTEXT, event->memcpy.source_context);
        args_u64(args, ARG_TO_DEVICE, event->memcpy.target_device);
        args_u64(args, ARG_TO_CONTEXT, event->memcpy.target_context);
    }
    add_bytes(args, event, event->memcpy.bytes);
    if (event->memcpy.copies > 1)
        args_u64(args, ARG_COPIES, event->memcpy.copies);
    add_graph(args, event->memcpy.graph, event->memcpy.graph_node);
}

static void describe_set(struct args *args, const struct process *process, const struct event *event)
{
    add_place(args, process, event);
    add_bytes(args, event, event->memset.bytes);
    args_u64(args, ARG_VALUE, event->memset.value);
    add_graph(args, event->memset.graph, event->memset.graph_node);
}

/* Category, name and args of GPU work. */
static struct slice describe(struct conversion *conversion, const struct process *process, const struct event *event,
                             struct args *args)
{
    struct slice slice = {.start = event->start, .end = event->end, .args = args};
    char text[64];
    switch (event->type) {
    case EVENT_KERNEL:
        slice.category = CATEGORY_KERNEL;
        slice.name = kernel_name(conversion, process, event);
        describe_kernel(args, process, event);
        break;
    case EVENT_MEMCPY:
        slice.category = CATEGORY_GPU_MEMCPY;
        slice.name = copy_name(conversion, event);
        describe_copy(args, process, event);
        break;
    case EVENT_MEMSET:
        slice.category = CATEGORY_GPU_MEMSET;
        slice.name = set_name(conversion, event);
        describe_set(args, process, event);
        break;
    default:
        slice.category = CATEGORY_GPU_GRAPH;
        snprintf(text, sizeof(text), "CUDA Graph %u", event->graph.graph);
        slice.name = kept_name(conversion, text);
        add_place(args, process, event);
        add_graph(args, event->graph.graph, 0);
        break;
    }
    return slice;
}

/* Work without times is shown where its call ended, or at the end of all when even that is not known. */
static void emit_untimed(struct conversion *conversion, struct process *process, const struct event *event,
                         struct slice *slice, const struct track *stream)
{
    const struct launch *launch = event->correlation ? launches_get(&process->launches, event->correlation) : NULL;
    slice->category = CATEGORY_GPU_IN_FLIGHT;
    slice->start = launch && launch->from != LAUNCH_UNKNOWN ? launch_end(launch) : process->last_time;
    slice->row = (struct row){stream->pid, stream->tids[0]};
    conversion->writer.format->instant(&conversion->writer, slice);
}

static void emit_arrow_head(struct conversion *conversion, struct process *process, const struct event *event,
                            struct row row)
{
    struct launch *launch = event->correlation ? launches_get(&process->launches, event->correlation) : NULL;
    if (!launch || !launch_reaches(launch, event->end))
        return;
    struct arrow arrow = {
        .id = launch_arrow(&process->launches, launch, event->correlation, launch->arrived++),
        .row = row,
        .time = event->start < launch->start ? launch->start : event->start, /* a head before its tail is lost */
    };
    if (arrow.id != 0)
        conversion->writer.format->arrow_end(&conversion->writer, &arrow);
}

int emit_gpu_work(struct conversion *conversion, struct process *process, const struct event *event)
{
    struct track *stream = tracks_get(&process->tracks, TRACK_STREAM, event->device, event->context, event->stream);
    struct args args = {0};
    if (!stream)
        return 0;
    struct slice slice = describe(conversion, process, event, &args);
    if (event->in_flight || !process_knows_span(process, event)) {
        emit_untimed(conversion, process, event, &slice, stream);
        return 0;
    }
    conversion->kernels += event->type == EVENT_KERNEL;
    slice.row = track_row(stream, event->start, event->end);
    conversion->writer.format->slice(&conversion->writer, &slice);
    emit_arrow_head(conversion, process, event, slice.row);
    return 0;
}

/* The name that the program gave to the CUDA event that the call of CORRELATION recorded. */
static void add_event_name(struct args *args, const struct process *process, enum arg_key key, uint32_t correlation)
{
    struct nvtx_text name = nvtx_event_name(&process->nvtx, correlation);
    if (name.text)
        args_text(args, key, name.text, name.length);
}

int emit_cuda_event(struct conversion *conversion, struct process *process, const struct event *event)
{
    if (event->start == 0 || !process_knows_time(process, event->start) || !process_was_to_record(process, TRACE_EVENT))
        return 0; /* newer versions of CUPTI alone tell the device's time, which device ranges ask for too */
    struct event placed = *event;
    placed.device = process_device(process, event);
    const struct track *stream =
        tracks_get(&process->tracks, TRACK_STREAM, placed.device, event->context, event->stream);
    if (!stream)
        return 0;
    struct args args = {0};
    add_place(&args, process, &placed);
    args_u64(&args, ARG_EVENT, event->cuda_event.event);
    add_event_name(&args, process, ARG_EVENT_NAME, event->correlation);
    struct slice slice = {.category = CATEGORY_CUDA_EVENT,
                          .name = kept_name(conversion, "CUDA Event Record"),
                          .row = {stream->pid, stream->tids[0]},
                          .start = event->start,
                          .args = &args};
    conversion->writer.format->instant(&conversion->writer, &slice);
    return 0;
}

static int64_t signed_stream(uint32_t stream)
{
    return stream == EVENT_NO_STREAM ? -1 : (int64_t)stream;
}

static void describe_wait(struct args *args, const struct process *process, const struct event *event)
{
    const struct cuda_event_record *record = cuda_events_find(&process->cuda_events, event);
    args_i64(args, ARG_WAIT_ON_STREAM, record ? signed_stream(record->stream) : -1);
    if (record)
        args_u64(args, ARG_WAIT_ON_CORRELATION, process_correlation(process, record->correlation));
    else
        args_i64(args, ARG_WAIT_ON_CORRELATION, -1);
    args_u64(args, ARG_WAIT_ON_EVENT, event->sync.event);
    if (record)
        add_event_name(args, process, ARG_WAIT_ON_EVENT_NAME, record->correlation);
}

int emit_sync(struct conversion *conversion, struct process *process, const struct event *event)
{
    static const char *const names[EVENT_SYNC_KIND_COUNT] = {
        [EVENT_SYNC_UNKNOWN] = "Unknown Sync",
        [EVENT_SYNC_EVENT] = "Event Sync",
        [EVENT_SYNC_STREAM_WAIT_EVENT] = "Stream Wait Event",
        [EVENT_SYNC_STREAM] = "Stream Sync",
        [EVENT_SYNC_CONTEXT] = "Context Sync",
    };
    if (!process_knows_span(process, event))
        return 0;
    uint32_t device = process_device(process, event);
    struct track *track = tracks_get(&process->tracks, TRACK_SYNC, device, event->context, event->stream);
    if (!track)
        return 0;
    const char *name = names[event->sync.kind];
    struct args args = {0};
    args_text(&args, ARG_SYNC_KIND, name, strlen(name));
    args_i64(&args, ARG_STREAM, signed_stream(event->stream));
    args_u64(&args, ARG_CORRELATION, process_correlation(process, event->correlation));
    args_u64(&args, ARG_DEVICE, device);
    args_u64(&args, ARG_CONTEXT, event->context);
    if (event->sync.kind == EVENT_SYNC_EVENT || event->sync.kind == EVENT_SYNC_STREAM_WAIT_EVENT)
        describe_wait(&args, process, event);
    if (event->sync.result != 0)
        args_u64(&args, ARG_RETURN_VALUE, event->sync.result);
    struct slice slice = {.category = CATEGORY_CUDA_SYNC,
                          .name = kept_name(conversion, name),
                          .row = track_row(track, event->start, event->end),
                          .start = event->start,
                          .end = event->end,
                          .args = &args};
    conversion->writer.format->slice(&conversion->writer, &slice);
    return 0;
}
