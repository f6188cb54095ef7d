/* The runtime API: memory in the order of a stream, and pools. */
#include "cudart/runtime.h"

RUNTIME_STREAM_API(cudaMallocAsync, v11020, v11020, (void **devPtr, size_t size, cudaStream_t hStream), devPtr, size,
                   hStream)
{
    CUresult result = PICK(cuMemAllocAsync)((CUdeviceptr *)p->devPtr, p->size, p->hStream);
    if (result != CUDA_ERROR_INVALID_CONTEXT)
        return DRIVER(result);
    NEED_CONTEXT(); /* only now, as the real one does */
    return DRIVER(PICK(cuMemAllocAsync)((CUdeviceptr *)p->devPtr, p->size, p->hStream));
}

RUNTIME_STREAM_API(cudaMallocFromPoolAsync, v11020, v11020,
                   (void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream), ptr, size, memPool, stream)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuMemAllocFromPoolAsync)((CUdeviceptr *)p->ptr, p->size, p->memPool, p->stream));
}

RUNTIME_STREAM_API(cudaFreeAsync, v11020, v11020, (void *devPtr, cudaStream_t hStream), devPtr, hStream)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuMemFreeAsync)((uintptr_t)p->devPtr, p->hStream));
}

RUNTIME_API(cudaDeviceGetDefaultMemPool, v11020, (cudaMemPool_t * memPool, int device), memPool, device)
{
    return DRIVER(cuDeviceGetDefaultMemPool(p->memPool, p->device));
}

RUNTIME_API(cudaDeviceGetMemPool, v11020, (cudaMemPool_t * memPool, int device), memPool, device)
{
    return DRIVER(cuDeviceGetMemPool(p->memPool, p->device));
}

RUNTIME_API(cudaDeviceSetMemPool, v11020, (int device, cudaMemPool_t memPool), device, memPool)
{
    return DRIVER(cuDeviceSetMemPool(p->device, p->memPool));
}

RUNTIME_API(cudaMemPoolCreate, v11020, (cudaMemPool_t * memPool, const struct cudaMemPoolProps *poolProps), memPool,
            poolProps)
{
    NEED_VALUE(p->poolProps);
    const CUmemPoolProps properties = {
        .allocType = (CUmemAllocationType)p->poolProps->allocType,
        .handleTypes = (CUmemAllocationHandleType)p->poolProps->handleTypes,
        .location = {(CUmemLocationType)p->poolProps->location.type, p->poolProps->location.id},
        .maxSize = p->poolProps->maxSize,
    };
    return DRIVER(cuMemPoolCreate(p->memPool, &properties));
}

RUNTIME_API(cudaMemPoolDestroy, v11020, (cudaMemPool_t memPool), memPool)
{
    return DRIVER(cuMemPoolDestroy(p->memPool));
}

RUNTIME_API(cudaMemPoolTrimTo, v11020, (cudaMemPool_t memPool, size_t minBytesToKeep), memPool, minBytesToKeep)
{
    return DRIVER(cuMemPoolTrimTo(p->memPool, p->minBytesToKeep));
}

RUNTIME_API(cudaMemPoolSetAttribute, v11020, (cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value), memPool,
            attr, value)
{
    return DRIVER(cuMemPoolSetAttribute(p->memPool, (CUmemPool_attribute)p->attr, p->value));
}

RUNTIME_API(cudaMemPoolGetAttribute, v11020, (cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value), memPool,
            attr, value)
{
    return DRIVER(cuMemPoolGetAttribute(p->memPool, (CUmemPool_attribute)p->attr, p->value));
}

RUNTIME_API(cudaMemPoolSetAccess, v11020,
            (cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList, size_t count), memPool, descList, count)
{
    return DRIVER(cuMemPoolSetAccess(p->memPool, (const CUmemAccessDesc *)(const void *)p->descList, p->count));
}
