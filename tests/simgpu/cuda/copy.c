/* The driver API: copies. */
#include "core/copy.h"
#include "core/api.h"
#include "core/array.h"
#include "core/memory.h"
#include "core/stream.h"
#include "cuda/need.h"

static const void *pointer(CUdeviceptr address)
{
    return (const void *)(uintptr_t)address;
}

/* Is ADDRESS the device's to use? */
static bool is_device(CUdeviceptr address)
{
    return memory_place(pointer(address)).kind != CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
}

static CUresult copy_now(struct op_copy copy, bool per_thread)
{
    return copy_submit(copy, stream_resolve(NULL, per_thread), false);
}

/* ---- one piece ---- */

DRIVER_SYNC_API(cuMemcpy)
{
    return copy_now(copy_linear(pointer(p->dst), pointer(p->src), p->ByteCount), per_thread);
}

DRIVER_SYNC_API(cuMemcpyHtoD_v2)
{
    NEED_VALUE(!p->ByteCount || (is_device(p->dstDevice)));
    return copy_now(copy_linear(pointer(p->dstDevice), p->srcHost, p->ByteCount), per_thread);
}

DRIVER_SYNC_API(cuMemcpyDtoH_v2)
{
    NEED_VALUE(!p->ByteCount || (is_device(p->srcDevice)));
    return copy_now(copy_linear(p->dstHost, pointer(p->srcDevice), p->ByteCount), per_thread);
}

DRIVER_SYNC_API(cuMemcpyDtoD_v2)
{
    NEED_VALUE(!p->ByteCount || (is_device(p->dstDevice) && is_device(p->srcDevice)));
    return copy_now(copy_linear(pointer(p->dstDevice), pointer(p->srcDevice), p->ByteCount), per_thread);
}

DRIVER_SYNC_API(cuMemcpyPeer)
{
    return copy_now(copy_linear(pointer(p->dstDevice), pointer(p->srcDevice), p->ByteCount), per_thread);
}

DRIVER_STREAM_API(cuMemcpyAsync)
{
    return copy_submit(copy_linear(pointer(p->dst), pointer(p->src), p->ByteCount),
                       stream_resolve(p->hStream, per_thread), true);
}

DRIVER_STREAM_API(cuMemcpyHtoDAsync_v2)
{
    NEED_VALUE(!p->ByteCount || (is_device(p->dstDevice)));
    return copy_submit(copy_linear(pointer(p->dstDevice), p->srcHost, p->ByteCount),
                       stream_resolve(p->hStream, per_thread), true);
}

DRIVER_STREAM_API(cuMemcpyDtoHAsync_v2)
{
    NEED_VALUE(!p->ByteCount || (is_device(p->srcDevice)));
    return copy_submit(copy_linear(p->dstHost, pointer(p->srcDevice), p->ByteCount),
                       stream_resolve(p->hStream, per_thread), true);
}

DRIVER_STREAM_API(cuMemcpyDtoDAsync_v2)
{
    NEED_VALUE(!p->ByteCount || (is_device(p->dstDevice) && is_device(p->srcDevice)));
    return copy_submit(copy_linear(pointer(p->dstDevice), pointer(p->srcDevice), p->ByteCount),
                       stream_resolve(p->hStream, per_thread), true);
}

DRIVER_STREAM_API(cuMemcpyPeerAsync)
{
    return copy_submit(copy_linear(pointer(p->dstDevice), pointer(p->srcDevice), p->ByteCount),
                       stream_resolve(p->hStream, per_thread), true);
}

/* ---- arrays of one row ---- */

DRIVER_SYNC_API(cuMemcpyHtoA_v2)
{
    NEED_HANDLE(p->dstArray);
    return copy_now(copy_linear(copy_array_at(p->dstArray, p->dstOffset), p->srcHost, p->ByteCount), per_thread);
}

DRIVER_SYNC_API(cuMemcpyAtoH_v2)
{
    NEED_HANDLE(p->srcArray);
    return copy_now(copy_linear(p->dstHost, copy_array_at(p->srcArray, p->srcOffset), p->ByteCount), per_thread);
}

DRIVER_SYNC_API(cuMemcpyDtoA_v2)
{
    NEED_HANDLE(p->dstArray);
    return copy_now(copy_linear(copy_array_at(p->dstArray, p->dstOffset), pointer(p->srcDevice), p->ByteCount),
                    per_thread);
}

DRIVER_SYNC_API(cuMemcpyAtoD_v2)
{
    NEED_HANDLE(p->srcArray);
    return copy_now(copy_linear(pointer(p->dstDevice), copy_array_at(p->srcArray, p->srcOffset), p->ByteCount),
                    per_thread);
}

DRIVER_SYNC_API(cuMemcpyAtoA_v2)
{
    NEED_HANDLE(p->dstArray && p->srcArray);
    return copy_now(
        copy_linear(copy_array_at(p->dstArray, p->dstOffset), copy_array_at(p->srcArray, p->srcOffset), p->ByteCount),
        per_thread);
}

DRIVER_STREAM_API(cuMemcpyHtoAAsync_v2)
{
    NEED_HANDLE(p->dstArray);
    return copy_submit(copy_linear(copy_array_at(p->dstArray, p->dstOffset), p->srcHost, p->ByteCount),
                       stream_resolve(p->hStream, per_thread), true);
}

DRIVER_STREAM_API(cuMemcpyAtoHAsync_v2)
{
    NEED_HANDLE(p->srcArray);
    return copy_submit(copy_linear(p->dstHost, copy_array_at(p->srcArray, p->srcOffset), p->ByteCount),
                       stream_resolve(p->hStream, per_thread), true);
}

/* ---- planes and boxes ---- */

static CUresult copy_plane_submit(const CUDA_MEMCPY2D *shape, CUstream stream, bool async)
{
    NEED_VALUE(shape);
    const CUDA_MEMCPY3D box = copy_plane(shape);
    return copy_submit(copy_box(&box), stream, async);
}

DRIVER_SYNC_API(cuMemcpy2D_v2)
{
    return copy_plane_submit(p->pCopy, stream_resolve(NULL, per_thread), false);
}

DRIVER_SYNC_API(cuMemcpy2DUnaligned_v2)
{
    return copy_plane_submit(p->pCopy, stream_resolve(NULL, per_thread), false);
}

DRIVER_STREAM_API(cuMemcpy2DAsync_v2)
{
    return copy_plane_submit(p->pCopy, stream_resolve(p->hStream, per_thread), true);
}

DRIVER_SYNC_API(cuMemcpy3D_v2)
{
    NEED_VALUE(p->pCopy);
    return copy_now(copy_box(p->pCopy), per_thread);
}

DRIVER_STREAM_API(cuMemcpy3DAsync_v2)
{
    NEED_VALUE(p->pCopy);
    return copy_submit(copy_box(p->pCopy), stream_resolve(p->hStream, per_thread), true);
}

/* The fields are those of CUDA_MEMCPY3D, with a context in the place of what is reserved there. */
_Static_assert(sizeof(CUDA_MEMCPY3D_PEER) == sizeof(CUDA_MEMCPY3D), "a copy between peers has another shape");

DRIVER_SYNC_API(cuMemcpy3DPeer)
{
    NEED_VALUE(p->pCopy);
    return copy_now(copy_box((const CUDA_MEMCPY3D *)(const void *)p->pCopy), per_thread);
}

DRIVER_STREAM_API(cuMemcpy3DPeerAsync)
{
    NEED_VALUE(p->pCopy);
    return copy_submit(copy_box((const CUDA_MEMCPY3D *)(const void *)p->pCopy), stream_resolve(p->hStream, per_thread),
                       true);
}

/* ---- the arrays themselves ---- */

DRIVER_API(cuArrayCreate_v2)
{
    NEED_VALUE(p->pHandle && p->pAllocateArray);
    NEED_CONTEXT(context);
    const CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = p->pAllocateArray->Width,
                                           .Height = p->pAllocateArray->Height,
                                           .Format = p->pAllocateArray->Format,
                                           .NumChannels = p->pAllocateArray->NumChannels};
    return array_create(context, &shape, p->pHandle);
}

DRIVER_API(cuArray3DCreate_v2)
{
    NEED_VALUE(p->pHandle && p->pAllocateArray);
    NEED_CONTEXT(context);
    return array_create(context, p->pAllocateArray, p->pHandle);
}

DRIVER_API(cuArray3DGetDescriptor_v2)
{
    NEED_VALUE(p->pArrayDescriptor);
    NEED_HANDLE(p->hArray);
    *p->pArrayDescriptor = p->hArray->shape;
    return CUDA_SUCCESS;
}

DRIVER_API(cuArrayDestroy)
{
    NEED_HANDLE(p->hArray);
    return array_destroy(p->hArray);
}
