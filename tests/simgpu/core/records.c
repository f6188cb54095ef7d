/* The records of things that are, and of what the host does with them. */
#include "core/records.h"

#include <unistd.h>

#include "core/api.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/context.h"
#include "core/device.h"
#include "core/event.h"
#include "core/jit.h"
#include "core/memory.h"
#include "core/pool.h"
#include "core/stream.h"

static atomic_bool all_sync = true;

void records_set_all_sync(bool enable)
{
    atomic_store(&all_sync, enable);
}

static void records_device(int ordinal)
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

void records_enabled(CUpti_ActivityKind kind)
{
    if (kind == CUPTI_ACTIVITY_KIND_DEVICE)
        for (int i = 0; i < device_count(); i++)
            records_device(i);
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
        .flag = stream == context->null_stream           ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL
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
        record.memoryPoolConfig.pool.size = range->pool->reserved;
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
        .size = pool->reserved,
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

void records_migration(uint64_t address, uint64_t bytes, int device)
{
    if (!activity_wanted(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, 0))
        return;
    uint64_t start = clock_now();
    CUpti_ActivityUnifiedMemoryCounter3 record = {
        .kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
        .counterKind = device < 0 ? CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH
                                  : CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
        .value = bytes,
        .start = start,
        .end = start + bytes / 50 + 1,
        .address = address,
        .srcId = 0, /* of the host too, as CUPTI 13.0 writes it */
        .dstId = device < 0 ? 0 : (uint32_t)device,
        .processId = (uint32_t)getpid(),
        .flags = CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_USER,
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

void records_jit(CUpti_ActivityJitOperationType operation, const struct jit_step *step)
{
    if (!activity_wanted(CUPTI_ACTIVITY_KIND_JIT, 0) || !api_watched())
        return;
    CUcontext context = context_current();
    const CUpti_ActivityJit2 record = {
        .kind = CUPTI_ACTIVITY_KIND_JIT,
        .jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN,
        .jitOperationType = operation,
        .deviceId = context ? (uint32_t)context->device->ordinal : 0,
        .start = step->start,
        .end = step->end,
        .correlationId = api_correlation(),
        .jitOperationCorrelationId = step->unit,
        .cacheSize = step->cache_size,
        .cachePath = step->cache_path,
        .processId = (uint32_t)getpid(),
        .threadId = api_thread_id(),
    };
    activity_write(&record);
}
