#include "core/copy.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/memory.h"
#include "core/stream.h"

struct op_copy copy_linear(const void *to, const void *from, size_t bytes)
{
    return (struct op_copy){
        .to = memory_place(to), .from = memory_place(from), .width = bytes, .height = 1, .depth = 1};
}

void *copy_array_at(CUarray array, size_t offset)
{
    return array->address + offset;
}

/* One end of a box: TYPE says which of the addresses counts. */
static struct op_place copy_end(CUmemorytype type, const void *host, CUdeviceptr device, CUarray array, size_t pitch,
                                size_t height, const size_t at[3], const CUDA_MEMCPY3D *shape)
{
    const uint8_t *base = type == CU_MEMORYTYPE_HOST    ? host
                          : type == CU_MEMORYTYPE_ARRAY ? array->address
                                                        : (const uint8_t *)(uintptr_t)device;
    if (type == CU_MEMORYTYPE_ARRAY) {
        pitch = array->pitch;
        height = array->height;
    }
    if (!pitch)
        pitch = shape->WidthInBytes;
    if (!height)
        height = shape->Height;
    struct op_place place = memory_place(base + at[0] + at[1] * pitch + at[2] * pitch * height);
    place.pitch = pitch;
    place.slice = pitch * height;
    return place;
}

struct op_copy copy_box(const CUDA_MEMCPY3D *s)
{
    const size_t from[3] = {s->srcXInBytes, s->srcY, s->srcZ}, to[3] = {s->dstXInBytes, s->dstY, s->dstZ};
    return (struct op_copy){
        .from = copy_end(s->srcMemoryType, s->srcHost, s->srcDevice, s->srcArray, s->srcPitch, s->srcHeight, from, s),
        .to = copy_end(s->dstMemoryType, s->dstHost, s->dstDevice, s->dstArray, s->dstPitch, s->dstHeight, to, s),
        .width = s->WidthInBytes,
        .height = s->Height,
        .depth = s->Depth,
    };
}

CUDA_MEMCPY3D copy_plane(const CUDA_MEMCPY2D *s)
{
    return (CUDA_MEMCPY3D){
        .srcXInBytes = s->srcXInBytes,
        .srcY = s->srcY,
        .srcMemoryType = s->srcMemoryType,
        .srcHost = s->srcHost,
        .srcDevice = s->srcDevice,
        .srcArray = s->srcArray,
        .srcPitch = s->srcPitch,
        .dstXInBytes = s->dstXInBytes,
        .dstY = s->dstY,
        .dstMemoryType = s->dstMemoryType,
        .dstHost = s->dstHost,
        .dstDevice = s->dstDevice,
        .dstArray = s->dstArray,
        .dstPitch = s->dstPitch,
        .WidthInBytes = s->WidthInBytes,
        .Height = s->Height,
        .Depth = 1,
    };
}

CUDA_MEMCPY3D copy_describe(const struct op_copy *copy)
{
    return (CUDA_MEMCPY3D){
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = (uintptr_t)copy->from.address,
        .srcPitch = copy->from.pitch,
        .srcHeight = copy->from.pitch ? copy->from.slice / copy->from.pitch : 0,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = (uintptr_t)copy->to.address,
        .dstPitch = copy->to.pitch,
        .dstHeight = copy->to.pitch ? copy->to.slice / copy->to.pitch : 0,
        .WidthInBytes = copy->width,
        .Height = copy->height,
        .Depth = copy->depth,
    };
}

/* Reads pageable memory now: the program may change it as soon as the call returns. */
static void copy_stage(struct op_copy *copy)
{
    uint8_t *staged = malloc(op_copy_bytes(copy));
    if (!staged)
        abort();
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            memcpy(staged + (z * copy->height + y) * copy->width,
                   copy->from.address + z * copy->from.slice + y * copy->from.pitch, copy->width);
    copy->staged = staged;
    copy->from.address = staged;
    copy->from.pitch = copy->width;
    copy->from.slice = copy->width * copy->height;
}

CUresult copy_submit(struct op_copy copy, CUstream stream, bool async)
{
    if (!stream)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!op_copy_bytes(&copy))
        return CUDA_SUCCESS;
    if (!copy.to.address || !copy.from.address)
        return CUDA_ERROR_INVALID_VALUE;
    copy.async = async;
    bool wait = !async || copy.to.kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    if (async && stream->capture)
        wait = false;
    else if (!wait && copy.from.kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE)
        copy_stage(&copy);
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_MEMCPY, .copy = copy};
    return stream_submit(stream, &op, wait);
}
