/*
 * Work of GPUs, what is told about it on its rows, and the heads of arrows.
 */
#include <stdio.h>
#include <string.h>

#include "trace/build/conversion.h"
#include "trace/build/emitter.h"
#include "trace/spool/error_names.h"
#include "trace/spool/memory_names.h"
#include "trace/build/occupancy.h"
#include "common/settings.h"

#define NAME_ROOM 96 /* for a name that is put together */

static struct name kernel_name(const struct emitter *emitter, const struct process *process, const struct event *event,
                               char room[NAME_ROOM])
{
    uint32_t number = kernel_name_number(process, event);
    if (number != NAMES_NO_MEMORY)
        return *names_get(&emitter->conversion->names, number);
    int length = snprintf(room, NAME_ROOM, "unnamed kernel 0x%llx", (unsigned long long)event->kernel.name);
    return name_plain_n(room, (size_t)length);
}

static struct name copy_name(const struct event *event, char room[NAME_ROOM])
{
    char *at = stpcpy(stpcpy(room, "Memcpy "), copy_kind_name(event->memcpy.kind & 15));
    at = stpcpy(stpcpy(at, " ("), memory_kind_name(event->memcpy.source & 7));
    at = stpcpy(stpcpy(stpcpy(at, " -> "), memory_kind_name(event->memcpy.target & 7)), ")");
    return name_plain_n(room, (size_t)(at - room));
}

static struct name set_name(const struct event *event, char room[NAME_ROOM])
{
    char *at = stpcpy(stpcpy(stpcpy(room, "Memset ("), memory_kind_name(event->memset.target & 7)), ")");
    return name_plain_n(room, (size_t)(at - room));
}

static struct name graph_name(const struct event *event, char room[NAME_ROOM])
{
    int length = snprintf(room, NAME_ROOM, "CUDA Graph %u", event->graph.graph);
    return name_plain_n(room, (size_t)length);
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

/* Category, name, which may lie in ROOM, and args of GPU work. */
static struct slice describe(const struct emitter *emitter, const struct process *process, const struct event *event,
                             struct args *args, char room[NAME_ROOM])
{
    struct slice slice = {.start = event->start, .end = event->end, .args = args};
    switch (event->type) {
    case EVENT_KERNEL:
        slice.category = CATEGORY_KERNEL;
        slice.name = kernel_name(emitter, process, event, room);
        describe_kernel(args, process, event);
        break;
    case EVENT_MEMCPY:
        slice.category = CATEGORY_GPU_MEMCPY;
        slice.name = copy_name(event, room);
        describe_copy(args, process, event);
        break;
    case EVENT_MEMSET:
        slice.category = CATEGORY_GPU_MEMSET;
        slice.name = set_name(event, room);
        describe_set(args, process, event);
        break;
    default:
        slice.category = CATEGORY_GPU_GRAPH;
        slice.name = graph_name(event, room);
        add_place(args, process, event);
        add_graph(args, event->graph.graph, 0);
        break;
    }
    return slice;
}

/* Work without times is shown where its call ended, or at the end of all when even that is not known. */
static void emit_untimed(struct emitter *emitter, struct process *process, const struct event *event,
                         struct slice *slice, const struct track *stream)
{
    const struct launch *launch = event->correlation ? launches_get(&process->launches, event->correlation) : NULL;
    slice->category = CATEGORY_GPU_IN_FLIGHT;
    slice->start = launch && launch->from != LAUNCH_UNKNOWN ? launch_end(launch) : process->last_time;
    slice->row = (struct row){stream->pid, stream->tids[0]};
    emitter->writer.format->instant(&emitter->writer, slice);
}

static void emit_arrow_head(struct emitter *emitter, struct process *process, const struct event *event, struct row row)
{
    const struct launch *launch = event->correlation ? launches_get(&process->launches, event->correlation) : NULL;
    if (!launch || !launch_reaches(launch, event->end))
        return;
    uint32_t earlier = launch->works > 1 ? emitter_meet_work(emitter, process, event->correlation) : 0;
    struct arrow arrow = {
        .id = launch_arrow(&process->launches, launch, event->correlation, earlier),
        .row = row,
        .time = event->start < launch->start ? launch->start : event->start, /* a head before its tail is lost */
    };
    if (arrow.id != 0)
        emitter->writer.format->arrow_end(&emitter->writer, &arrow);
}

int emit_gpu_work(struct emitter *emitter, struct process *process, const struct event *event)
{
    struct track *stream = emitter_track(emitter, process, TRACK_STREAM, event->device, event->context, event->stream);
    struct args args;
    char room[NAME_ROOM];
    if (!stream)
        return 0;
    args.count = 0;
    struct slice slice = describe(emitter, process, event, &args, room);
    if (event->in_flight || !process_knows_span(process, event)) {
        emit_untimed(emitter, process, event, &slice, stream);
        return 0;
    }
    emitter->kernels += event->type == EVENT_KERNEL;
    slice.row = track_row_own(stream, event->start, event->end, emitter->part);
    emitter->writer.format->slice(&emitter->writer, &slice);
    emit_arrow_head(emitter, process, event, slice.row);
    return 0;
}

/* The name that the program gave to the CUDA event that the call of CORRELATION recorded. */
static void add_event_name(struct args *args, const struct process *process, enum arg_key key, uint32_t correlation)
{
    struct nvtx_text name = nvtx_event_name(&process->nvtx, correlation);
    if (name.text)
        args_text(args, key, name.text, name.length);
}

int emit_cuda_event(struct emitter *emitter, struct process *process, const struct event *event)
{
    if (event->start == 0 || !process_knows_time(process, event->start) ||
        !process_was_to_record(process, TRACE_EVENT_TIMES))
        return 0; /* newer versions of CUPTI alone tell the device's time, which device ranges ask for too */
    struct event placed = *event;
    placed.device = process_device(process, event->device, event->context);
    const struct track *stream =
        emitter_track(emitter, process, TRACK_STREAM, placed.device, event->context, event->stream);
    if (!stream)
        return 0;
    struct args args = {0};
    add_place(&args, process, &placed);
    args_u64(&args, ARG_EVENT, event->cuda_event.event);
    add_event_name(&args, process, ARG_EVENT_NAME, event->correlation);
    struct slice slice = {.category = CATEGORY_CUDA_EVENT,
                          .name = name_plain("CUDA Event Record"),
                          .row = {stream->pid, stream->tids[0]},
                          .start = event->start,
                          .args = &args};
    emitter->writer.format->instant(&emitter->writer, &slice);
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

int emit_sync(struct emitter *emitter, struct process *process, const struct event *event)
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
    uint32_t device = process_device(process, event->device, event->context);
    struct track *track = emitter_track(emitter, process, TRACK_SYNC, device, event->context, event->stream);
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
        args_error(&args, ARG_RETURN_VALUE, event->sync.result, driver_error_name(event->sync.result));
    struct slice slice = {.category = CATEGORY_CUDA_SYNC,
                          .name = name_plain(name),
                          .row = track_row(track, event->start, event->end),
                          .start = event->start,
                          .end = event->end,
                          .args = &args};
    emitter->writer.format->slice(&emitter->writer, &slice);
    return 0;
}
