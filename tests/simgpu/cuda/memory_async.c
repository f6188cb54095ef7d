/* The driver API: memory in the order of a stream, and pools. */
#include "core/api.h"
#include "core/memory.h"
#include "core/pool.h"
#include "core/records.h"
#include "core/sim.h"
#include "core/stream.h"
#include "cuda/need.h"

static CUresult allocate_async(CUdeviceptr *out, size_t size, CUmemoryPool pool, CUstream stream)
{
    NEED_VALUE(out && size);
    NEED(pool_use(pool, size), CUDA_ERROR_OUT_OF_MEMORY);
    void *address = NULL;
    CUresult result = memory_allocate(stream->context, MEMORY_ASYNC, size, 0, pool, &address);
    if (result != CUDA_SUCCESS) {
        pool_unuse(pool, size);
        return result;
    }
    *out = (uintptr_t)address;
    if (stream->capture) {
        const struct op op = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .memory = *out};
        return stream_submit(stream, &op, false);
    }
    struct memory_range range;
    if (memory_find(address, &range))
        records_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, &range, stream);
    return CUDA_SUCCESS;
}

DRIVER_STREAM_API(cuMemAllocAsync)
{
    CUstream stream = stream_resolve(p->hStream, per_thread);
    NEED(stream, CUDA_ERROR_INVALID_CONTEXT);
    return allocate_async(p->dptr, p->bytesize, pool_current(stream->context->device), stream);
}

DRIVER_STREAM_API(cuMemAllocFromPoolAsync)
{
    CUstream stream = stream_resolve(p->hStream, per_thread);
    NEED(stream, CUDA_ERROR_INVALID_CONTEXT);
    NEED_VALUE(p->pool);
    return allocate_async(p->dptr, p->bytesize, p->pool, stream);
}

DRIVER_STREAM_API(cuMemFreeAsync)
{
    CUstream stream = stream_resolve(p->hStream, per_thread);
    NEED(stream, CUDA_ERROR_INVALID_CONTEXT);
    if (!p->dptr)
        return CUDA_SUCCESS;
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .memory = p->dptr};
    if (stream->capture)
        return stream_submit(stream, &op, false);
    void *address = (void *)(uintptr_t)p->dptr;
    struct memory_range range;
    NEED_VALUE(memory_find(address, &range));
    CUresult result = memory_retire(address, 1u << MEMORY_ASYNC | 1u << MEMORY_DEVICE | 1u << MEMORY_MANAGED);
    NEED(result == CUDA_SUCCESS, result);
    if (range.pool)
        pool_unuse(range.pool, range.size);
    records_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, &range, stream);
    return stream_submit(stream, &op, false);
}

/* ---- pools ---- */

DRIVER_API(cuMemPoolCreate)
{
    NEED_VALUE(p->pool && p->poolProps);
    NEED_DEVICE(device, p->poolProps->location.id);
    *p->pool = pool_create(device, p->poolProps->maxSize);
    return CUDA_SUCCESS;
}

DRIVER_API(cuMemPoolDestroy)
{
    NEED_VALUE(p->pool && p->pool != p->pool->device->default_pool);
    pool_destroy(p->pool);
    return CUDA_SUCCESS;
}

DRIVER_API(cuMemPoolTrimTo)
{
    NEED_VALUE(p->pool);
    pool_trim(p->pool, p->minBytesToKeep);
    records_pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED, p->pool, p->minBytesToKeep);
    return CUDA_SUCCESS;
}

/* Where the number of an attribute is kept: an int for the first three, 64 bits for the others. NULL: unknown. */
static void *pool_attribute(CUmemoryPool pool, CUmemPool_attribute attribute)
{
    switch ((int)attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: return &pool->reuse[0];
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: return &pool->reuse[1];
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: return &pool->reuse[2];
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return &pool->threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return &pool->reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return &pool->reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return &pool->used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return &pool->used_high;
    default: return NULL;
    }
}

static size_t pool_attribute_size(CUmemPool_attribute attribute)
{
    return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES ? sizeof(int) : sizeof(uint64_t);
}

DRIVER_API(cuMemPoolGetAttribute)
{
    NEED_VALUE(p->pool && p->value);
    pool_must_be(p->pool);
    NEED_VALUE(pool_attribute(p->pool, p->attr));
    sim_lock();
    memcpy(p->value, pool_attribute(p->pool, p->attr), pool_attribute_size(p->attr));
    sim_unlock();
    return CUDA_SUCCESS;
}

DRIVER_API(cuMemPoolSetAttribute)
{
    NEED_VALUE(p->pool && p->value && pool_attribute(p->pool, p->attr));
    NEED_VALUE(p->attr != CU_MEMPOOL_ATTR_USED_MEM_CURRENT && p->attr != CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    bool high = p->attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH || p->attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;
    NEED_VALUE(!high || *(const uint64_t *)p->value == 0); /* they can be reset, and no more */
    sim_lock();
    memcpy(pool_attribute(p->pool, p->attr), p->value, pool_attribute_size(p->attr));
    if (high)
        pool_reset_high(p->pool);
    sim_unlock();
    return CUDA_SUCCESS;
}

DRIVER_API(cuMemPoolSetAccess)
{
    NEED_VALUE(p->pool && (p->map || !p->count));
    return CUDA_SUCCESS;
}
