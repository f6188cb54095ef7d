/* The runtime API: memory. */
#include "cudart/registry.h"
#include "cudart/runtime.h"
#include "cudart/shape.h"

static CUdeviceptr address(const void *pointer)
{
    return (uintptr_t)pointer;
}

RUNTIME_API(cudaMalloc, v3020)
{
    NEED_VALUE(p->devPtr);
    NEED_CONTEXT();
    *p->devPtr = NULL;
    if (!p->size)
        return cudaSuccess;
    return DRIVER(cuMemAlloc_v2((CUdeviceptr *)p->devPtr, p->size));
}

RUNTIME_API(cudaFree, v3020)
{
    NEED_CONTEXT();
    return DRIVER(cuMemFree_v2(address(p->devPtr))); /* also of NULL */
}

static cudaError_t malloc_pitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
    NEED_VALUE(pointer && pitch);
    NEED_CONTEXT();
    return DRIVER(cuMemAllocPitch_v2((CUdeviceptr *)pointer, pitch, width, height, 4));
}

RUNTIME_API(cudaMallocPitch, v3020)
{
    return malloc_pitch(p->devPtr, p->pitch, p->width, p->height);
}

RUNTIME_API(cudaMalloc3D, v3020)
{
    NEED_VALUE(p->pitchedDevPtr);
    struct cudaPitchedPtr *out = p->pitchedDevPtr;
    TRY(malloc_pitch(&out->ptr, &out->pitch, p->extent.width, p->extent.height * p->extent.depth));
    out->xsize = p->extent.width;
    out->ysize = p->extent.height;
    return cudaSuccess;
}

RUNTIME_CALL(cudaMallocHost, v3020, cuMemHostAlloc, p->ptr, p->size, 0)
RUNTIME_FORWARD(cudaHostAlloc, v3020, cuMemHostAlloc)

RUNTIME_API(cudaFreeHost, v3020)
{
    NEED_CONTEXT();
    return p->ptr ? DRIVER(cuMemFreeHost(p->ptr)) : cudaSuccess;
}

RUNTIME_FORWARD(cudaHostRegister, v4000, cuMemHostRegister_v2)
RUNTIME_FORWARD(cudaHostUnregister, v4000, cuMemHostUnregister)

RUNTIME_API(cudaMallocManaged, v6000)
{
    NEED_VALUE(p->devPtr);
    NEED_CONTEXT();
    return DRIVER(cuMemAllocManaged((CUdeviceptr *)p->devPtr, p->size, p->flags));
}

RUNTIME_FORWARD(cudaMemGetInfo, v3020, cuMemGetInfo_v2)

RUNTIME_STREAM_API(cudaMemPrefetchAsync, v12020, v12020)
{
    NEED_CONTEXT();
    const CUmemLocation where = {(CUmemLocationType)p->location.type, p->location.id};
    return DRIVER(PICK(cuMemPrefetchAsync_v2)(address(p->devPtr), p->count, where, p->flags, p->stream));
}

/* ---- arrays ---- */

static CUarray_format array_format(const struct cudaChannelFormatDesc *desc)
{
    static const CUarray_format formats[3][3] = {
        {CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_SIGNED_INT32},
        {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT32},
        {CU_AD_FORMAT_HALF, CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT},
    };
    int size = desc->x <= 8 ? 0 : desc->x <= 16 ? 1 : 2;
    return desc->f <= cudaChannelFormatKindFloat ? formats[desc->f][size] : (CUarray_format)0;
}

static CUDA_ARRAY3D_DESCRIPTOR array_shape(const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                                           unsigned flags)
{
    return (CUDA_ARRAY3D_DESCRIPTOR){
        .Width = extent.width,
        .Height = extent.height,
        .Depth = extent.depth,
        .Format = array_format(desc),
        .NumChannels = (unsigned)((desc->x > 0) + (desc->y > 0) + (desc->z > 0) + (desc->w > 0)),
        .Flags = flags,
    };
}

static cudaError_t malloc_array(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                                unsigned flags)
{
    NEED_VALUE(array && desc);
    NEED_CONTEXT();
    const CUDA_ARRAY3D_DESCRIPTOR shape = array_shape(desc, extent, flags);
    CUarray made;
    TRY(cuArray3DCreate_v2(&made, &shape));
    *array = array_to_runtime(made);
    return cudaSuccess;
}

RUNTIME_API(cudaMallocArray, v3020)
{
    return malloc_array(p->array, p->desc, (struct cudaExtent){p->width, p->height, 0}, p->flags);
}

RUNTIME_API(cudaMalloc3DArray, v3020)
{
    return malloc_array(p->array, p->desc, p->extent, p->flags);
}

RUNTIME_API(cudaFreeArray, v3020)
{
    return p->array ? DRIVER(cuArrayDestroy(array_to_driver(p->array))) : cudaSuccess;
}

RUNTIME_API(cudaMallocMipmappedArray, v5000)
{
    NEED_VALUE(p->mipmappedArray && p->desc);
    NEED_CONTEXT();
    const CUDA_ARRAY3D_DESCRIPTOR shape = array_shape(p->desc, p->extent, p->flags);
    return DRIVER(cuMipmappedArrayCreate((CUmipmappedArray *)(void *)p->mipmappedArray, &shape, p->numLevels));
}

RUNTIME_API(cudaFreeMipmappedArray, v5000)
{
    NEED_CONTEXT();
    return p->mipmappedArray ? DRIVER(cuMipmappedArrayDestroy((CUmipmappedArray)(void *)p->mipmappedArray))
                             : cudaSuccess;
}

/* ---- what pointers and symbols are ---- */

RUNTIME_API(cudaPointerGetAttributes, v4000)
{
    NEED_VALUE(p->attributes);
    NEED_CONTEXT();
    int type = 0, device = -2, managed = 0;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *values[] = {&type, &device, &managed};
    TRY(cuPointerGetAttributes(3, which, values, address(p->ptr)));
    bool host = type == CU_MEMORYTYPE_HOST || managed, known = type != 0;
    *p->attributes = (struct cudaPointerAttributes){
        .type = managed                      ? cudaMemoryTypeManaged
                : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
                : known                      ? cudaMemoryTypeDevice
                                             : cudaMemoryTypeUnregistered,
        .device = device,
        .devicePointer = known ? (void *)(uintptr_t)p->ptr : NULL,
        .hostPointer = host || !known ? (void *)(uintptr_t)p->ptr : NULL,
    };
    return cudaSuccess;
}

/* ---- memory in the order of a stream, and pools ---- */

RUNTIME_STREAM_API(cudaMallocAsync, v11020, v11020)
{
    CUresult result = PICK(cuMemAllocAsync)((CUdeviceptr *)p->devPtr, p->size, p->hStream);
    if (result != CUDA_ERROR_INVALID_CONTEXT)
        return DRIVER(result);
    NEED_CONTEXT(); /* only now, as the real one does */
    return DRIVER(PICK(cuMemAllocAsync)((CUdeviceptr *)p->devPtr, p->size, p->hStream));
}

RUNTIME_STREAM_CALL(cudaMallocFromPoolAsync, v11020, v11020, cuMemAllocFromPoolAsync, (CUdeviceptr *)p->ptr, p->size,
                    p->memPool, p->stream)
RUNTIME_STREAM_CALL(cudaFreeAsync, v11020, v11020, cuMemFreeAsync, (uintptr_t)p->devPtr, p->hStream)
RUNTIME_FORWARD_PLAIN(cudaDeviceGetDefaultMemPool, v11020, cuDeviceGetDefaultMemPool)

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
RUNTIME_CALL_PLAIN(cudaMemPoolSetAttribute, v11020, cuMemPoolSetAttribute, p->memPool, (CUmemPool_attribute)p->attr,
                   p->value)
