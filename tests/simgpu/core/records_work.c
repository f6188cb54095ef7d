/* The records of work: begun when it is launched, completed when it has ended. */
#include <stdatomic.h>

#include "core/api.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/context.h"
#include "core/event.h"
#include "core/function.h"
#include "core/records.h"
#include "core/stream.h"

static atomic_bool event_timestamps, latency_timestamps;
static atomic_uint kernels_recorded;

void records_set_event_timestamps(bool enable)
{
    atomic_store(&event_timestamps, enable);
}

void records_set_latency_timestamps(bool enable)
{
    atomic_store(&latency_timestamps, enable);
}

static uint32_t stream_id_of(const struct record_origin *origin)
{
    return origin->stream_id ? origin->stream_id : origin->stream->id;
}

static struct activity_slot records_begin_kernel(const struct op_kernel *op, const struct record_origin *origin)
{
    CUcontext context = origin->stream->context;
    CUpti_ActivityKind kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    if (!activity_wanted(kind, context->id))
        kind = CUPTI_ACTIVITY_KIND_KERNEL;
    if (!activity_wanted(kind, context->id))
        return (struct activity_slot){0};
    bool latency = atomic_load(&latency_timestamps);
    const CUpti_ActivityKernel10 record = {
        .kind = kind,
        .registersPerThread = (uint16_t)op->function->registers,
        .deviceId = (uint32_t)context->device->ordinal,
        .contextId = context->id,
        .streamId = stream_id_of(origin),
        .gridX = (int32_t)op->grid[0],
        .gridY = (int32_t)op->grid[1],
        .gridZ = (int32_t)op->grid[2],
        .blockX = (int32_t)op->block[0],
        .blockY = (int32_t)op->block[1],
        .blockZ = (int32_t)op->block[2],
        .staticSharedMemory = (int32_t)op->function->static_shared,
        .dynamicSharedMemory = (int32_t)op->shared,
        .correlationId = origin->correlation,
        .gridId = (int64_t)atomic_fetch_add(&kernels_recorded, 1) + 1,
        .name = op->function->record_name,
        .queued = latency ? clock_now() : 0,
        .submitted = latency ? clock_now() : 0,
        .launchType = (uint8_t)op->launch_type,
        .sharedMemoryExecuted = op->function->static_shared + op->shared,
        .graphNodeId = origin->graph_node_id,
        .graphId = origin->graph_id,
        .channelID = 8,
        .channelType = CUPTI_CHANNEL_TYPE_COMPUTE,
        .clusterX = op->cluster[0],
        .clusterY = op->cluster[1],
        .clusterZ = op->cluster[2],
    };
    return activity_begin(&record);
}

static struct activity_slot records_begin_peer(const struct op_copy *op, const struct record_origin *origin)
{
    CUcontext context = origin->stream->context;
    struct device *from = device_get(op->from.device), *to = device_get(op->to.device);
    const CUpti_ActivityMemcpyPtoP4 record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
        .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
        .srcKind = (uint8_t)op->from.kind,
        .dstKind = (uint8_t)op->to.kind,
        .flags = op->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
        .bytes = op_copy_bytes(op),
        .deviceId = (uint32_t)context->device->ordinal,
        .contextId = context->id,
        .streamId = stream_id_of(origin),
        .srcDeviceId = (uint32_t)op->from.device,
        .srcContextId = from && from->primary ? from->primary->id : 0,
        .dstDeviceId = (uint32_t)op->to.device,
        .dstContextId = to && to->primary ? to->primary->id : 0,
        .correlationId = origin->correlation,
        .graphNodeId = origin->graph_node_id,
        .graphId = origin->graph_id,
        .channelID = 9,
        .channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY,
    };
    return activity_begin(&record);
}

static struct activity_slot records_begin_copy(const struct op_copy *op, const struct record_origin *origin)
{
    CUcontext context = origin->stream->context;
    CUpti_ActivityMemcpyKind copy_kind = op_copy_kind(op);
    bool peer = copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    if (!activity_wanted(peer ? CUPTI_ACTIVITY_KIND_MEMCPY2 : CUPTI_ACTIVITY_KIND_MEMCPY, context->id))
        return (struct activity_slot){0};
    if (peer)
        return records_begin_peer(op, origin);
    const CUpti_ActivityMemcpy6 record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
        .copyKind = (uint8_t)copy_kind,
        .srcKind = (uint8_t)op->from.kind,
        .dstKind = (uint8_t)op->to.kind,
        .flags = op->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
        .bytes = op_copy_bytes(op),
        .deviceId = (uint32_t)context->device->ordinal,
        .contextId = context->id,
        .streamId = stream_id_of(origin),
        .correlationId = origin->correlation,
        .graphNodeId = origin->graph_node_id,
        .graphId = origin->graph_id,
        .channelID = 9,
        .channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY,
        .copyCount = 1,
    };
    return activity_begin(&record);
}

static struct activity_slot records_begin_set(const struct op_set *op, const struct record_origin *origin)
{
    CUcontext context = origin->stream->context;
    if (!activity_wanted(CUPTI_ACTIVITY_KIND_MEMSET, context->id))
        return (struct activity_slot){0};
    const CUpti_ActivityMemset4 record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMSET,
        .value = op->value,
        .bytes = op_set_bytes(op),
        .deviceId = (uint32_t)context->device->ordinal,
        .contextId = context->id,
        .streamId = stream_id_of(origin),
        .correlationId = origin->correlation,
        .flags = op->async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0,
        .memoryKind = (uint16_t)op->to.kind,
        .graphNodeId = origin->graph_node_id,
        .graphId = origin->graph_id,
        .channelID = 8,
        .channelType = CUPTI_CHANNEL_TYPE_COMPUTE,
    };
    return activity_begin(&record);
}

static struct activity_slot records_begin_event(const struct CUevent_st *event, const struct record_origin *origin)
{
    CUcontext context = origin->stream->context;
    if (!activity_wanted(CUPTI_ACTIVITY_KIND_CUDA_EVENT, context->id))
        return (struct activity_slot){0};
    const CUpti_ActivityCudaEvent2 record = {
        .kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT,
        .correlationId = origin->correlation,
        .contextId = context->id,
        .streamId = stream_id_of(origin),
        .eventId = event->id,
        .deviceId = (uint32_t)context->device->ordinal,
        .cudaEventSyncId = event->sync_id,
    };
    bool has_time = activity_size(record.kind) == sizeof(record); /* since CUDA 12.8 */
    if (has_time && atomic_load(&event_timestamps))
        return activity_begin(&record);
    activity_write(&record);
    return (struct activity_slot){0};
}

struct activity_slot records_begin(const struct op *op, const struct record_origin *origin)
{
    switch ((int)op->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return records_begin_kernel(&op->kernel, origin);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return records_begin_copy(&op->copy, origin);
    case CU_GRAPH_NODE_TYPE_MEMSET: return records_begin_set(&op->set, origin);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return records_begin_event(op->event, origin);
    default: return (struct activity_slot){0};
    }
}

bool records_graphs_whole(CUcontext context)
{
    return activity_wanted(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, context->id);
}

struct activity_slot records_begin_graph(const struct record_origin *origin)
{
    CUcontext context = origin->stream->context;
    if (!records_graphs_whole(context))
        return (struct activity_slot){0};
    const CUpti_ActivityGraphTrace2 record = {
        .kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
        .correlationId = origin->correlation,
        .deviceId = (uint32_t)context->device->ordinal,
        .graphId = origin->graph_id,
        .contextId = context->id,
        .streamId = stream_id_of(origin),
        .endDeviceId = (uint32_t)context->device->ordinal,
        .endContextId = context->id,
    };
    return activity_begin(&record);
}

void records_fail(struct work *work)
{
    static uint64_t kernels;
    if (work->op.type != CU_GRAPH_NODE_TYPE_KERNEL)
        return;
    kernels++;
    work->hangs = config()->hang_kernel == kernels || work->op.kernel.told.duration == MEETING_ENDLESS;
    work->faults = config()->fault_kernel == kernels;
    work->timeless = config()->zero_kernels && kernels % config()->zero_kernels == 0;
}
