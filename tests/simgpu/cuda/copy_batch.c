/* The driver API: copies by the batch. The real one puts several small copies into one when it pays; this one never
 * does. */
#include "core/api.h"
#include "core/array.h"
#include "core/copy.h"
#include "core/stream.h"
#include "cuda/need.h"

static const void *pointer(CUdeviceptr address)
{
    return (const void *)(uintptr_t)address;
}

/* Not the null stream. */
static bool is_stream(CUstream stream)
{
    return stream && stream != CU_STREAM_LEGACY;
}

DRIVER_STREAM_API(cuMemcpyBatchAsync_v2)
{
    NEED_VALUE(p->dsts && p->srcs && p->sizes && p->count && p->attrs && p->attrsIdxs && p->numAttrs);
    NEED_VALUE(is_stream(p->hStream));
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < p->count && result == CUDA_SUCCESS; i++)
        result = copy_submit(copy_linear(pointer(p->dsts[i]), pointer(p->srcs[i]), p->sizes[i]),
                             stream_resolve(p->hStream, per_thread), true);
    return result;
}

/* ---- boxes ---- */

/* Bytes of what the box is counted in. */
static size_t element_of(const CUDA_MEMCPY3D_BATCH_OP *one)
{
    if (one->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return one->src.op.array.array->element;
    return one->dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? one->dst.op.array.array->element : 1;
}

/* Puts SIDE into the fields of one side of a box: those whose names begin with NAME. */
#define SET_SIDE(box, name, side, element)                                 \
    do {                                                                   \
        if ((side)->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {                \
            (box)->name##MemoryType = CU_MEMORYTYPE_ARRAY;                 \
            (box)->name##Array = (side)->op.array.array;                   \
            (box)->name##XInBytes = (side)->op.array.offset.x * (element); \
            (box)->name##Y = (side)->op.array.offset.y;                    \
            (box)->name##Z = (side)->op.array.offset.z;                    \
        } else {                                                           \
            (box)->name##MemoryType = CU_MEMORYTYPE_UNIFIED;               \
            (box)->name##Device = (side)->op.ptr.ptr;                      \
            (box)->name##Pitch = (side)->op.ptr.rowLength * (element);     \
            (box)->name##Height = (side)->op.ptr.layerHeight;              \
        }                                                                  \
    } while (0)

static CUDA_MEMCPY3D box_of(const CUDA_MEMCPY3D_BATCH_OP *one)
{
    size_t element = element_of(one);
    CUDA_MEMCPY3D box = {
        .WidthInBytes = one->extent.width * element, .Height = one->extent.height, .Depth = one->extent.depth};
    SET_SIDE(&box, src, &one->src, element);
    SET_SIDE(&box, dst, &one->dst, element);
    return box;
}

DRIVER_STREAM_API(cuMemcpy3DBatchAsync_v2)
{
    NEED_VALUE(p->numOps && p->opList && !p->flags && is_stream(p->hStream));
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < p->numOps && result == CUDA_SUCCESS; i++) {
        const CUDA_MEMCPY3D box = box_of(&p->opList[i]);
        result = copy_submit(copy_box(&box), stream_resolve(p->hStream, per_thread), true);
    }
    return result;
}
