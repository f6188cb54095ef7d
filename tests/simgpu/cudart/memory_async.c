/* The runtime API: memory in the order of a stream, and pools. */
#include "cudart/runtime.h"

RUNTIME_STREAM_API(cudaMallocAsync, v11020, v11020)
{
    CUresult result = PICK(cuMemAllocAsync)((CUdeviceptr *)p->devPtr, p->size, p->hStream);
    if (result != CUDA_ERROR_INVALID_CONTEXT)
        return DRIVER(result);
    NEED_CONTEXT(); /* only now, as the real one does */
    return DRIVER(PICK(cuMemAllocAsync)((CUdeviceptr *)p->devPtr, p->size, p->hStream));
}

RUNTIME_STREAM_API(cudaMallocFromPoolAsync, v11020, v11020)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuMemAllocFromPoolAsync)((CUdeviceptr *)p->ptr, p->size, p->memPool, p->stream));
}

RUNTIME_STREAM_API(cudaFreeAsync, v11020, v11020)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuMemFreeAsync)((uintptr_t)p->devPtr, p->hStream));
}

RUNTIME_FORWARD_PLAIN(cudaDeviceGetDefaultMemPool, v11020, cuDeviceGetDefaultMemPool)
RUNTIME_FORWARD_PLAIN(cudaDeviceGetMemPool, v11020, cuDeviceGetMemPool)
RUNTIME_FORWARD_PLAIN(cudaDeviceSetMemPool, v11020, cuDeviceSetMemPool)

RUNTIME_API(cudaMemPoolCreate, v11020)
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

RUNTIME_FORWARD_PLAIN(cudaMemPoolDestroy, v11020, cuMemPoolDestroy)
RUNTIME_FORWARD_PLAIN(cudaMemPoolTrimTo, v11020, cuMemPoolTrimTo)

RUNTIME_API(cudaMemPoolSetAttribute, v11020)
{
    return DRIVER(cuMemPoolSetAttribute(p->memPool, (CUmemPool_attribute)p->attr, p->value));
}

RUNTIME_API(cudaMemPoolGetAttribute, v11020)
{
    return DRIVER(cuMemPoolGetAttribute(p->memPool, (CUmemPool_attribute)p->attr, p->value));
}

RUNTIME_API(cudaMemPoolSetAccess, v11020)
{
    return DRIVER(cuMemPoolSetAccess(p->memPool, (const CUmemAccessDesc *)(const void *)p->descList, p->count));
}
