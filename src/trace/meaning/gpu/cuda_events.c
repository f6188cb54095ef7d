/*
 * Records of CUDA events by event and time, so that a wait finds the record that it waited for. Waits become slices,
 * and records of events instants with the names that the program gave them.
 */
#include "trace/meaning/gpu/cuda_events.h"

#include <string.h>

#include "common/array.h"
#include "common/log.h"
#include "common/lookup.h"
#include "common/settings.h"
#include "trace/meaning/base/capture_intervals.h"
#include "trace/meaning/base/event_functions.h"
#include "trace/meaning/base/piece_writer.h"
#include "trace/meaning/gpu/gpu_ops.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/nvtx/nvtx_names.h"
#include "trace/spool/cuda_names.h"

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
    for (size_t i = array_before(events->items.items, events->items.count, sizeof(wanted), &wanted, order); i > 0;
         i--) {
        const struct cuda_event_record *record = &events->items.items[i - 1];
        if (record->event != wanted.event || record->event_context != wanted.event_context)
            break;
        if (!last)
            last = record;
        if (sync->sync.sync_id == 0 || record->sync_id == sync->sync.sync_id)
            return record;
    }
    return last;
}

/* The name that the program gave to the CUDA event that the call of CORRELATION recorded. */
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
        return 0; /* newer versions of CUPTI alone tell the device's time, which device ranges ask for too */
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

static void describe_wait(struct args *args, const struct process *process, const struct event *event)
{
    const struct cuda_event_record *record = cuda_events_find(process->cuda_events, event);
    args_i64(args, ARG_WAIT_ON_STREAM, record ? signed_stream(record->stream) : -1);
    if (record)
        args_u64(args, ARG_WAIT_ON_CORRELATION, process_correlation(process, record->correlation));
    else
        args_i64(args, ARG_WAIT_ON_CORRELATION, -1);
    args_u64(args, ARG_WAIT_ON_EVENT, event->sync.event);
    if (record)
        add_event_name(args, process, ARG_WAIT_ON_EVENT_NAME, record->correlation);
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
    if (!process_knows_span(process, event))
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
    if (event->sync.kind == EVENT_SYNC_EVENT || event->sync.kind == EVENT_SYNC_STREAM_WAIT_EVENT)
        describe_wait(&args, process, event);
    if (event->sync.result != 0)
        args_error(&args, ARG_RETURN_VALUE, event->sync.result, driver_error_name(event->sync.result));
    struct row row = track_row(track, event->start, event->end);
    piece_writer_slice(out, CATEGORY_CUDA_SYNC, name_plain(name), row, event->start, event->end, &args);
    return 0;
}

/* --- index and resolve passes --- */

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

int index_sync(struct process *process, const struct event *event)
{
    if (!process_index_span(process, event))
        return 0;
    return tracks_put(&process->waits, TRACK_SYNC, event->device, event->context, event->stream, NULL) ? 0 : -1;
}

int index_agent_sync(struct process *process, const struct event *event)
{
    process->cuda = true;
    return capture_intervals_hold(process->capture_intervals, event->start) ? index_sync(process, event) : 0;
}

int resolve_sync(struct process *process, const struct event *event)
{
    uint32_t device = process_device(process, event->device, event->context);
    struct track *track = tracks_get(&process->tracks, TRACK_SYNC, device, event->context, event->stream);
    if (!track || !process_knows_span(process, event))
        return 0;
    return lanes_collect(&track->lanes, event->start, event->end);
}

int resolve_agent_sync(struct process *process, const struct event *event)
{
    return capture_intervals_hold(process->capture_intervals, event->start) ? resolve_sync(process, event) : 0;
}

int write_agent_sync(struct piece_writer *out, struct process *process, const struct event *event)
{
    return capture_intervals_hold(process->capture_intervals, event->start) ? write_sync(out, process, event) : 0;
}
