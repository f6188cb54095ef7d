#include "cudart/shape.h"

#include "core/array.h"

CUDA_MEMCPY2D shape_plane(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = (uintptr_t)from,
                           .srcPitch = from_pitch,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = (uintptr_t)to,
                           .dstPitch = to_pitch,
                           .WidthInBytes = width,
                           .Height = height};
}

CUDA_MEMCPY3D shape_line(void *to, const void *from, size_t bytes)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = (uintptr_t)from,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = (uintptr_t)to,
                           .WidthInBytes = bytes,
                           .Height = 1,
                           .Depth = 1};
}

CUDA_MEMCPY3D shape_box(const struct cudaMemcpy3DParms *s)
{
    CUarray from = array_to_driver(s->srcArray), to = array_to_driver(s->dstArray);
    size_t from_element = from ? from->element : 1, to_element = to ? to->element : 1;
    size_t element = from ? from_element : to_element;
    return (CUDA_MEMCPY3D){
        .srcXInBytes = s->srcPos.x * from_element,
        .srcY = s->srcPos.y,
        .srcZ = s->srcPos.z,
        .srcMemoryType = from ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
        .srcDevice = (uintptr_t)s->srcPtr.ptr,
        .srcArray = from,
        .srcPitch = s->srcPtr.pitch,
        .srcHeight = s->srcPtr.ysize,
        .dstXInBytes = s->dstPos.x * to_element,
        .dstY = s->dstPos.y,
        .dstZ = s->dstPos.z,
        .dstMemoryType = to ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
        .dstDevice = (uintptr_t)s->dstPtr.ptr,
        .dstArray = to,
        .dstPitch = s->dstPtr.pitch,
        .dstHeight = s->dstPtr.ysize,
        .WidthInBytes = s->extent.width * element,
        .Height = s->extent.height,
        .Depth = s->extent.depth,
    };
}
