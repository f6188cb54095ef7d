/* The runtime API: copies and sets. */
#include <string.h>

#include "cudart/registry.h"
#include "cudart/runtime.h"
#include "cudart/shape.h"

static CUdeviceptr address(const void *pointer)
{
    return (uintptr_t)pointer;
}

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, bool per_thread)
{
    NEED_CONTEXT();
    switch (kind) {
    case cudaMemcpyHostToDevice: return DRIVER(PICK_SYNC(cuMemcpyHtoD_v2)(address(to), from, bytes));
    case cudaMemcpyDeviceToHost: return DRIVER(PICK_SYNC(cuMemcpyDtoH_v2)(to, address(from), bytes));
    case cudaMemcpyDeviceToDevice: return DRIVER(PICK_SYNC(cuMemcpyDtoD_v2)(address(to), address(from), bytes));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault: return DRIVER(PICK_SYNC(cuMemcpy)(address(to), address(from), bytes));
    }
    return cudaErrorInvalidMemcpyDirection;
}

static cudaError_t copy_async(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream,
                              bool per_thread)
{
    NEED_CONTEXT();
    switch (kind) {
    case cudaMemcpyHostToDevice: return DRIVER(PICK(cuMemcpyHtoDAsync_v2)(address(to), from, bytes, stream));
    case cudaMemcpyDeviceToHost: return DRIVER(PICK(cuMemcpyDtoHAsync_v2)(to, address(from), bytes, stream));
    case cudaMemcpyDeviceToDevice: return DRIVER(PICK(cuMemcpyDtoDAsync_v2)(address(to), address(from), bytes, stream));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault: return DRIVER(PICK(cuMemcpyAsync)(address(to), address(from), bytes, stream));
    }
    return cudaErrorInvalidMemcpyDirection;
}

#define NOTHING (void)0

/* A call and its asynchronous twin: BEGIN is done first, then NOW and LATER get the arguments that follow. */
#define PAIR(name, version, thread_version, begin, now, later, ...) \
    RUNTIME_SYNC_API(name, version, thread_version)                 \
    {                                                               \
        begin;                                                      \
        return now(__VA_ARGS__, per_thread);                        \
    }                                                               \
    RUNTIME_STREAM_API(name##Async, version, thread_version)        \
    {                                                               \
        begin;                                                      \
        return later(__VA_ARGS__, p->stream, per_thread);           \
    }
/* The same of which NOW and LATER are calls of the driver. */
#define DRIVER_PAIR(name, version, thread_version, begin, now, later, ...) \
    RUNTIME_SYNC_API(name, version, thread_version)                        \
    {                                                                      \
        NEED_CONTEXT();                                                    \
        begin;                                                             \
        return DRIVER(PICK_SYNC(now)(__VA_ARGS__));                        \
    }                                                                      \
    RUNTIME_STREAM_API(name##Async, version, thread_version)               \
    {                                                                      \
        NEED_CONTEXT();                                                    \
        begin;                                                             \
        return DRIVER(PICK(later)(__VA_ARGS__, p->stream));                \
    }

PAIR(cudaMemcpy, v3020, v7000, NOTHING, copy, copy_async, p->dst, p->src, p->count, p->kind)

/* Declares the contexts TO and FROM. */
#define PEERS(to_device, from_device)     \
    CUcontext to, from;                   \
    TRY(runtime_primary(to_device, &to)); \
    TRY(runtime_primary(from_device, &from))

RUNTIME_API(cudaMemcpyPeer, v4000)
{
    NEED_CONTEXT();
    PEERS(p->dstDevice, p->srcDevice);
    return DRIVER(cuMemcpyPeer(address(p->dst), to, address(p->src), from, p->count));
}

RUNTIME_API(cudaMemcpyPeerAsync, v4000)
{
    NEED_CONTEXT();
    PEERS(p->dstDevice, p->srcDevice);
    return DRIVER(cuMemcpyPeerAsync(address(p->dst), to, address(p->src), from, p->count, p->stream));
}

RUNTIME_STREAM_CALL(cudaMemcpyBatchAsync, v13000, v13000, cuMemcpyBatchAsync_v2, (CUdeviceptr *)(uintptr_t)p->dsts,
                    (CUdeviceptr *)(uintptr_t)p->srcs, (size_t *)(uintptr_t)p->sizes, p->count,
                    (CUmemcpyAttributes *)(void *)p->attrs, p->attrsIdxs, p->numAttrs, p->stream)

/* ---- symbols ---- */

/* The address OFFSET bytes into SYMBOL, of which COUNT bytes are wanted. */
static cudaError_t symbol_at(const void *symbol, size_t offset, size_t count, void **where)
{
    NEED_CONTEXT();
    CUdeviceptr start;
    size_t size;
    TRY(registry_variable(symbol, &start, &size));
    NEED_VALUE(offset <= size && count <= size - offset);
    *where = (void *)(uintptr_t)(start + offset);
    return cudaSuccess;
}

/* Declares PLACE, which is OFFSET bytes into SYMBOL. */
#define SYMBOL_PLACE() \
    void *place;       \
    TRY(symbol_at(p->symbol, p->offset, p->count, &place))

PAIR(cudaMemcpyToSymbol, v3020, v7000, SYMBOL_PLACE(), copy, copy_async, place, p->src, p->count, p->kind)
PAIR(cudaMemcpyFromSymbol, v3020, v7000, SYMBOL_PLACE(), copy, copy_async, p->dst, place, p->count, p->kind)

/* ---- planes and boxes ---- */

#define PLANE() const CUDA_MEMCPY2D shape = shape_plane(p->dst, p->dpitch, p->src, p->spitch, p->width, p->height)
#define BOX()         \
    NEED_VALUE(p->p); \
    const CUDA_MEMCPY3D shape = shape_box(p->p)

DRIVER_PAIR(cudaMemcpy2D, v3020, v7000, PLANE(), cuMemcpy2DUnaligned_v2, cuMemcpy2DAsync_v2, &shape)
DRIVER_PAIR(cudaMemcpy3D, v3020, v7000, BOX(), cuMemcpy3D_v2, cuMemcpy3DAsync_v2, &shape)

#define PEER_BOX()                           \
    NEED_VALUE(p->p);                        \
    PEERS(p->p->dstDevice, p->p->srcDevice); \
    const CUDA_MEMCPY3D_PEER shape = shape_peers(p->p, to, from)

/* ---- arrays: the driver gets boxes of one plane ---- */

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

PAIR(cudaMemcpyToArray, v3020, v7000, NOTHING, copy_box, copy_box_async,
     box_to_array(TO, p->src, p->count, p->count, 1))
PAIR(cudaMemcpyFromArray, v3020, v7000, NOTHING, copy_box, copy_box_async,
     box_from_array(p->dst, p->count, FROM, p->count, 1))
PAIR(cudaMemcpy2DToArray, v3020, v7000, NOTHING, copy_box, copy_box_async,
     box_to_array(TO, p->src, p->spitch, p->width, p->height))
PAIR(cudaMemcpy2DFromArray, v3020, v7000, NOTHING, copy_box, copy_box_async,
     box_from_array(p->dst, p->dpitch, FROM, p->width, p->height))

#define FIRST ((struct corner){p->dst, p->wOffsetDst, p->hOffsetDst})
#define SECOND ((struct corner){p->src, p->wOffsetSrc, p->hOffsetSrc})

/* ---- sets ---- */

#define VALUE ((unsigned char)p->value)

DRIVER_PAIR(cudaMemset, v3020, v7000, NOTHING, cuMemsetD8_v2, cuMemsetD8Async, address(p->devPtr), VALUE, p->count)
DRIVER_PAIR(cudaMemset2D, v3020, v7000, NOTHING, cuMemsetD2D8_v2, cuMemsetD2D8Async, address(p->devPtr), p->pitch,
            VALUE, p->width, p->height)
