#include "trace/build/event_passes.h"

#include "common/log.h"
#include "common/spool_records.h"
#include "trace/build/compilation.h"
#include "trace/build/crashes.h"
#include "trace/build/cuda_events.h"
#include "trace/build/gpu_ops.h"
#include "trace/build/graphs.h"
#include "trace/build/kernel_names.h"
#include "trace/build/launches.h"
#include "trace/build/memory.h"
#include "trace/build/nvtx.h"
#include "trace/build/nvtx_extensions.h"
#include "trace/build/nvtx_write.h"
#include "trace/build/plugins.h"
#include "trace/build/pools.h"
#include "trace/build/process.h"
#include "trace/build/session.h"
#include "trace/build/stacks.h"
#include "trace/build/unified_memory.h"
#include "trace/spool/record_table.h"

/* --- devices, contexts, streams --- */

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

static int index_context(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    process->cuda = true;
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

static int index_stream(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    process->cuda = true;
    uint64_t *stream = map_put(&process->stream_of_handle, event->object.handle, NULL);
    if (!stream)
        return error_no_memory("streams");
    *stream = (uint64_t)event->stream + 1;
    return 0;
}

static int index_graph_launch(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    return conditional_launches_index(process->conditional, event);
}

/* --- NVTX --- */

static int index_nvtx(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    if (!process_index_span(process, event))
        return 0;
    process->nvtx_seen = true;
    process->nvtx_wanted |= event->nvtx.what != SPOOL_NVTX_END; /* nvtxRangeEnd() is of no domain */
    struct track *thread = process_thread(process, TRACK_THREAD, event->thread);
    if (!thread)
        return -1;
    /* Ranges that end with a capture interval may cut a call. */
    if (event->nvtx.what == SPOOL_NVTX_ACQUIRE ||
        (event->nvtx.what == SPOOL_NVTX_PUSH && process->capture_intervals->limited))
        lanes_must_collect(&thread->lanes);
    return nvtx_index(process->nvtx, process->capture_intervals, event);
}

static int index_nvtx_name(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    return nvtx_index(process->nvtx, process->capture_intervals, event);
}

static int index_nvtx_record(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    return index_nvtx_extension(process, event);
}

/* Ranges are written from their index. */
static int write_nvtx(struct piece_writer *out, struct process *process, const struct event *event)
{
    bool mark = event->nvtx.what == SPOOL_NVTX_MARK && process_knows_time(process, event->start);
    return mark ? write_nvtx_mark(out, process, event) : 0;
}

/* --- the tables --- */

const struct event_passes cupti_passes[EVENT_TYPE_COUNT] = {
#define ROW(kind, event, decode, type, last, index, resolve, write, cause) \
    [EVENT_##event] = {index, resolve, write, cause},
#define ALSO(...)
    CUPTI_RECORDS(ROW, ALSO)
#undef ROW
};

const struct event_passes agent_passes[EVENT_TYPE_COUNT] = {
#define ROW(record, event, decode, index, resolve, write) [EVENT_##event] = {index, resolve, write, NO_CALL},
    AGENT_RECORDS(ROW, ALSO)
#undef ALSO
#undef ROW
};
