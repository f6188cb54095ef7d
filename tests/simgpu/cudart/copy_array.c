/* The runtime API: copies to and from arrays. The driver is given boxes of one plane. */
#include "cudart/memory_array.h"
#include "cudart/runtime.h"
#include "cudart/shape.h"

/* Where in an array a copy begins: bytes, rows. */
struct corner {
    cudaArray_const_t array;
    size_t x, y;
};

static CUDA_MEMCPY3D box_to_array(struct corner to, const void *from, size_t pitch, size_t width, size_t height)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = (uintptr_t)from,
                           .srcPitch = pitch,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = array_to_driver(to.array),
                           .dstXInBytes = to.x,
                           .dstY = to.y,
                           .WidthInBytes = width,
                           .Height = height,
                           .Depth = 1};
}

static CUDA_MEMCPY3D box_from_array(void *to, size_t pitch, struct corner from, size_t width, size_t height)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcArray = array_to_driver(from.array),
                           .srcXInBytes = from.x,
                           .srcY = from.y,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = (uintptr_t)to,
                           .dstPitch = pitch,
                           .WidthInBytes = width,
                           .Height = height,
                           .Depth = 1};
}

static CUDA_MEMCPY3D box_between(struct corner to, struct corner from, size_t width, size_t height)
{
    CUDA_MEMCPY3D shape = box_from_array(NULL, 0, from, width, height);
    shape.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    shape.dstArray = array_to_driver(to.array);
    shape.dstXInBytes = to.x;
    shape.dstY = to.y;
    return shape;
}

static cudaError_t copy_box(CUDA_MEMCPY3D shape, bool per_thread)
{
    NEED_VALUE(shape.srcMemoryType != CU_MEMORYTYPE_ARRAY || shape.srcArray);
    NEED_VALUE(shape.dstMemoryType != CU_MEMORYTYPE_ARRAY || shape.dstArray);
    NEED_CONTEXT();
    return DRIVER(PICK_SYNC(cuMemcpy3D_v2)(&shape));
}

static cudaError_t copy_box_async(CUDA_MEMCPY3D shape, cudaStream_t stream, bool per_thread)
{
    NEED_VALUE(shape.srcMemoryType != CU_MEMORYTYPE_ARRAY || shape.srcArray);
    NEED_VALUE(shape.dstMemoryType != CU_MEMORYTYPE_ARRAY || shape.dstArray);
    NEED_CONTEXT();
    return DRIVER(PICK(cuMemcpy3DAsync_v2)(&shape, stream));
}

#define TO ((struct corner){p->dst, p->wOffset, p->hOffset})
#define FROM ((struct corner){p->src, p->wOffset, p->hOffset})

RUNTIME_SYNC_API(cudaMemcpyToArray, v3020, v7000)
{
    return copy_box(box_to_array(TO, p->src, p->count, p->count, 1), per_thread);
}

RUNTIME_SYNC_API(cudaMemcpyFromArray, v3020, v7000)
{
    return copy_box(box_from_array(p->dst, p->count, FROM, p->count, 1), per_thread);
}

RUNTIME_STREAM_API(cudaMemcpyToArrayAsync, v3020, v7000)
{
    return copy_box_async(box_to_array(TO, p->src, p->count, p->count, 1), p->stream, per_thread);
}

RUNTIME_STREAM_API(cudaMemcpyFromArrayAsync, v3020, v7000)
{
    return copy_box_async(box_from_array(p->dst, p->count, FROM, p->count, 1), p->stream, per_thread);
}

RUNTIME_SYNC_API(cudaMemcpy2DToArray, v3020, v7000)
{
    return copy_box(box_to_array(TO, p->src, p->spitch, p->width, p->height), per_thread);
}

RUNTIME_SYNC_API(cudaMemcpy2DFromArray, v3020, v7000)
{
    return copy_box(box_from_array(p->dst, p->dpitch, FROM, p->width, p->height), per_thread);
}

RUNTIME_STREAM_API(cudaMemcpy2DToArrayAsync, v3020, v7000)
{
    return copy_box_async(box_to_array(TO, p->src, p->spitch, p->width, p->height), p->stream, per_thread);
}

RUNTIME_STREAM_API(cudaMemcpy2DFromArrayAsync, v3020, v7000)
{
    return copy_box_async(box_from_array(p->dst, p->dpitch, FROM, p->width, p->height), p->stream, per_thread);
}

#define FIRST ((struct corner){p->dst, p->wOffsetDst, p->hOffsetDst})
#define SECOND ((struct corner){p->src, p->wOffsetSrc, p->hOffsetSrc})

RUNTIME_SYNC_API(cudaMemcpyArrayToArray, v3020, v7000)
{
    return copy_box(box_between(FIRST, SECOND, p->count, 1), per_thread);
}

RUNTIME_SYNC_API(cudaMemcpy2DArrayToArray, v3020, v7000)
{
    return copy_box(box_between(FIRST, SECOND, p->width, p->height), per_thread);
}
