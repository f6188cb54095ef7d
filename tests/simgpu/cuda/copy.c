/* The driver API: copies and sets. */
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

/* Fails if ADDRESS is not device memory, unless nothing is copied. */
#define NEED_DEVICE_MEMORY(address) \
    NEED_VALUE(!p->ByteCount || memory_place(pointer(address)).kind != CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE)

static CUresult copy_now(struct op_copy copy, bool per_thread)
{
    return copy_submit(copy, stream_resolve(NULL, per_thread), false);
}

#define COPY(name, need, to, from)                                        \
    DRIVER_SYNC_API(name)                                                 \
    {                                                                     \
        need;                                                             \
        return copy_now(copy_linear(to, from, p->ByteCount), per_thread); \
    }
#define COPY_ASYNC(name, need, to, from)                                                                       \
    DRIVER_STREAM_API(name)                                                                                    \
    {                                                                                                          \
        need;                                                                                                  \
        return copy_submit(copy_linear(to, from, p->ByteCount), stream_resolve(p->hStream, per_thread), true); \
    }
#define DEVICE(side) pointer(p->side##Device)
#define ARRAY(side) copy_array_at(p->side##Array, p->side##Offset)
#define NOTHING (void)0
#define NEED_BOTH()                       \
    do {                                  \
        NEED_DEVICE_MEMORY(p->dstDevice); \
        NEED_DEVICE_MEMORY(p->srcDevice); \
    } while (0)

COPY(cuMemcpy, NOTHING, pointer(p->dst), pointer(p->src))
COPY(cuMemcpyHtoD_v2, NEED_DEVICE_MEMORY(p->dstDevice), DEVICE(dst), p->srcHost)
COPY(cuMemcpyDtoH_v2, NEED_DEVICE_MEMORY(p->srcDevice), p->dstHost, DEVICE(src))
COPY(cuMemcpyDtoD_v2, NEED_BOTH(), DEVICE(dst), DEVICE(src))
COPY(cuMemcpyPeer, NOTHING, DEVICE(dst), DEVICE(src))
COPY_ASYNC(cuMemcpyAsync, NOTHING, pointer(p->dst), pointer(p->src))
COPY_ASYNC(cuMemcpyHtoDAsync_v2, NEED_DEVICE_MEMORY(p->dstDevice), DEVICE(dst), p->srcHost)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, NEED_DEVICE_MEMORY(p->srcDevice), p->dstHost, DEVICE(src))
COPY_ASYNC(cuMemcpyDtoDAsync_v2, NEED_BOTH(), DEVICE(dst), DEVICE(src))
COPY_ASYNC(cuMemcpyPeerAsync, NOTHING, DEVICE(dst), DEVICE(src))

/* Arrays of one row. */
COPY(cuMemcpyHtoA_v2, NEED_HANDLE(p->dstArray), ARRAY(dst), p->srcHost)
COPY(cuMemcpyAtoH_v2, NEED_HANDLE(p->srcArray), p->dstHost, ARRAY(src))
COPY(cuMemcpyDtoA_v2, NEED_HANDLE(p->dstArray), ARRAY(dst), DEVICE(src))
COPY(cuMemcpyAtoD_v2, NEED_HANDLE(p->srcArray), DEVICE(dst), ARRAY(src))
COPY(cuMemcpyAtoA_v2, NEED_HANDLE(p->dstArray && p->srcArray), ARRAY(dst), ARRAY(src))
COPY_ASYNC(cuMemcpyHtoAAsync_v2, NEED_HANDLE(p->dstArray), ARRAY(dst), p->srcHost)
COPY_ASYNC(cuMemcpyAtoHAsync_v2, NEED_HANDLE(p->srcArray), p->dstHost, ARRAY(src))

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

/* ---- batches: the real driver merges small copies of a batch when that is faster, this one does not ---- */

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

/* ---- sets: one shape of entry for each size of element ---- */

static CUresult set(CUdeviceptr to, size_t pitch, uint32_t value, unsigned element, size_t width, size_t height,
                    CUstream stream, bool async)
{
    if (!width || !height)
        return CUDA_SUCCESS;
    NEED_VALUE(to && to % element == 0);
    struct op op = {.type = CU_GRAPH_NODE_TYPE_MEMSET,
                    .set = {.to = memory_place((const void *)(uintptr_t)to),
                            .width = width,
                            .height = height,
                            .element = element,
                            .value = value,
                            .async = async}};
    op.set.to.pitch = pitch;
    NEED_VALUE(op.set.to.kind != CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
    /* The host waits for sets of pinned and managed memory alone. */
    bool of_host =
        op.set.to.kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED || op.set.to.kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
    return stream_submit(stream, &op, !async && of_host);
}

#define SET(bits, field)                                                                                        \
    DRIVER_SYNC_API(cuMemsetD##bits##_v2)                                                                       \
    {                                                                                                           \
        return set(p->dstDevice, 0, p->field, bits / 8, p->N, 1, stream_resolve(NULL, per_thread), false);      \
    }                                                                                                           \
    DRIVER_STREAM_API(cuMemsetD##bits##Async)                                                                   \
    {                                                                                                           \
        return set(p->dstDevice, 0, p->field, bits / 8, p->N, 1, stream_resolve(p->hStream, per_thread), true); \
    }                                                                                                           \
    DRIVER_SYNC_API(cuMemsetD2D##bits##_v2)                                                                     \
    {                                                                                                           \
        return set(p->dstDevice, p->dstPitch, p->field, bits / 8, p->Width, p->Height,                          \
                   stream_resolve(NULL, per_thread), false);                                                    \
    }                                                                                                           \
    DRIVER_STREAM_API(cuMemsetD2D##bits##Async)                                                                 \
    {                                                                                                           \
        return set(p->dstDevice, p->dstPitch, p->field, bits / 8, p->Width, p->Height,                          \
                   stream_resolve(p->hStream, per_thread), true);                                               \
    }

SET(8, uc)
SET(16, us)
SET(32, ui)
