#include "core/records.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/api.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/context.h"
#include "core/event.h"
#include "core/function.h"
#include "core/memory.h"
#include "core/pool.h"
#include "core/stream.h"

static atomic_bool event_timestamps, latency_timestamps;
static atomic_bool all_sync = true;
static atomic_uint kernels_recorded;

void records_set_event_timestamps(bool enable)
{
    atomic_store(&event_timestamps, enable);
}

void records_set_latency_timestamps(bool enable)
{
    atomic_store(&latency_timestamps, enable);
}

void records_set_all_sync(bool enable)
{
    atomic_store(&all_sync, enable);
}

/* ---- work ---- */

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
        .streamId = origin->stream->id,
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
        .streamId = origin->stream->id,
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
        .streamId = origin->stream->id,
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
        .streamId = origin->stream->id,
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
        .streamId = origin->stream->id,
        .eventId = event->id,
        .deviceId = (uint32_t)context->device->ordinal,
        .cudaEventSyncId = event->sync_id,
    };
    if (atomic_load(&event_timestamps))
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
        .streamId = origin->stream->id,
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
    work->hangs = config()->hang_kernel == kernels;
    work->timeless = config()->zero_kernels && kernels % config()->zero_kernels == 0;
}

/* ---- things ---- */

void records_device(int ordinal)
{
    static char name[] = "Simulated GPU";
    const struct device *device = device_get(ordinal);
    if (!device || !activity_wanted(CUPTI_ACTIVITY_KIND_DEVICE, 0))
        return;
    CUpti_ActivityDevice5 record = {
        .kind = CUPTI_ACTIVITY_KIND_DEVICE,
        .flags = CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS,
        .globalMemoryBandwidth = UINT64_C(4800000000),
        .globalMemorySize = config()->memory,
        .constantMemorySize = 65536,
        .l2CacheSize = 62914560,
        .numThreadsPerWarp = 32,
        .coreClockRate = 1980000,
        .numMemcpyEngines = 3,
        .numMultiprocessors = 132,
        .maxIPC = 4,
        .maxWarpsPerMultiprocessor = 64,
        .maxBlocksPerMultiprocessor = 32,
        .maxSharedMemoryPerMultiprocessor = 233472,
        .maxRegistersPerMultiprocessor = 65536,
        .maxRegistersPerBlock = 65536,
        .maxSharedMemoryPerBlock = 49152,
        .maxThreadsPerBlock = 1024,
        .maxBlockDimX = 1024,
        .maxBlockDimY = 1024,
        .maxBlockDimZ = 64,
        .maxGridDimX = 2147483647,
        .maxGridDimY = 65535,
        .maxGridDimZ = 65535,
        .computeCapabilityMajor = 9,
        .id = (uint32_t)ordinal,
        .eccEnabled = 1,
        .name = name,
        .isCudaVisible = 1,
    };
    device_uuid(device, &record.uuid);
    activity_write(&record);
}

void records_context(CUcontext context)
{
    records_device(context->device->ordinal);
    if (!activity_wanted(CUPTI_ACTIVITY_KIND_CONTEXT, context->id))
        return;
    const CUpti_ActivityContext3 record = {
        .kind = CUPTI_ACTIVITY_KIND_CONTEXT,
        .contextId = context->id,
        .deviceId = (uint32_t)context->device->ordinal,
        .computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA,
        .nullStreamId = (uint16_t)context->null_stream->id,
        .numMultiprocessors = 132,
    };
    activity_write(&record);
}

void records_stream(CUstream stream)
{
    CUcontext context = stream->context;
    if (!activity_wanted(CUPTI_ACTIVITY_KIND_STREAM, context->id))
        return;
    const CUpti_ActivityStream record = {
        .kind = CUPTI_ACTIVITY_KIND_STREAM,
        .contextId = context->id,
        .streamId = stream->id,
        .priority = (uint32_t)stream->priority,
        .flag = stream == context->null_stream             ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL
                : stream->flags & CU_STREAM_NON_BLOCKING ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                                                           : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT,
        .correlationId = api_correlation(),
    };
    activity_write(&record);
}

void records_memory(CUpti_ActivityMemoryOperationType operation, const struct memory_range *range, CUstream stream)
{
    if (!activity_wanted(CUPTI_ACTIVITY_KIND_MEMORY2, range->context->id))
        return;
    CUpti_ActivityMemory4 record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMORY2,
        .memoryOperationType = operation,
        .memoryKind = memory_kind(range->origin),
        .correlationId = api_correlation(),
        .address = (uintptr_t)range->address,
        .bytes = range->size,
        .timestamp = clock_now(),
        .processId = (uint32_t)getpid(),
        .deviceId = (uint32_t)range->device->ordinal,
        .contextId = range->context->id,
        .streamId = stream ? stream->id : CUPTI_SYNCHRONIZATION_INVALID_VALUE,
        .isAsync = stream != NULL,
    };
    if (range->pool) {
        record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
        record.memoryPoolConfig.address = (uintptr_t)range->pool;
        record.memoryPoolConfig.releaseThreshold = range->pool->threshold;
        record.memoryPoolConfig.pool.size = config()->memory;
        record.memoryPoolConfig.utilizedSize = range->pool->used;
    }
    activity_write(&record);
}

void records_pool(CUpti_ActivityMemoryPoolOperationType operation, CUmemoryPool pool, size_t bytes_kept)
{
    if (!activity_wanted(CUPTI_ACTIVITY_KIND_MEMORY_POOL, 0))
        return;
    const CUpti_ActivityMemoryPool3 record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL,
        .memoryPoolOperationType = operation,
        .memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL,
        .correlationId = api_correlation(),
        .processId = (uint32_t)getpid(),
        .deviceId = (uint32_t)pool->device->ordinal,
        .minBytesToKeep = bytes_kept,
        .address = (uintptr_t)pool,
        .size = pool->most ? pool->most : config()->memory,
        .releaseThreshold = pool->threshold,
        .timestamp = clock_now(),
        .utilizedSize = pool->used,
    };
    activity_write(&record);
}

void records_synchronization(CUpti_ActivitySynchronizationType type, uint64_t start, CUcontext context, CUstream stream,
                             CUevent event, CUresult result)
{
    if (!activity_wanted(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, context->id))
        return;
    if (result == CUDA_ERROR_NOT_READY && !atomic_load(&all_sync))
        return;
    const CUpti_ActivitySynchronization2 record = {
        .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        .type = type,
        .start = start,
        .end = clock_now(),
        .correlationId = api_correlation(),
        .contextId = context->id,
        .streamId = stream ? stream->id : CUPTI_SYNCHRONIZATION_INVALID_VALUE,
        .cudaEventId = event ? event->id : CUPTI_SYNCHRONIZATION_INVALID_VALUE,
        .cudaEventSyncId = event ? event->sync_id : CUPTI_SYNCHRONIZATION_INVALID_VALUE,
        .returnValue = (uint32_t)result,
    };
    activity_write(&record);
}

void records_overhead(CUpti_ActivityOverheadKind kind, uint64_t start)
{
    if (!activity_wanted(CUPTI_ACTIVITY_KIND_OVERHEAD, 0))
        return;
    const CUpti_ActivityOverhead3 record = {
        .kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
        .overheadKind = kind,
        .objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
        .objectId.pt = {.processId = (uint32_t)getpid(), .threadId = api_thread_id()},
        .start = start,
        .end = clock_now(),
        .correlationId = api_correlation(),
    };
    activity_write(&record);
}
