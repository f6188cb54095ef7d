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

RUNTIME_SYNC_API(cudaMemcpy, v3020, v7000)
{
    return copy(p->dst, p->src, p->count, p->kind, per_thread);
}

RUNTIME_STREAM_API(cudaMemcpyAsync, v3020, v7000)
{
    return copy_async(p->dst, p->src, p->count, p->kind, p->stream, per_thread);
}

RUNTIME_API(cudaMemcpyPeer, v4000)
{
    NEED_CONTEXT();
    CUcontext to, from;
    TRY(runtime_primary(p->dstDevice, &to));
    TRY(runtime_primary(p->srcDevice, &from));
    return DRIVER(cuMemcpyPeer(address(p->dst), to, address(p->src), from, p->count));
}

RUNTIME_API(cudaMemcpyPeerAsync, v4000)
{
    NEED_CONTEXT();
    CUcontext to, from;
    TRY(runtime_primary(p->dstDevice, &to));
    TRY(runtime_primary(p->srcDevice, &from));
    return DRIVER(cuMemcpyPeerAsync(address(p->dst), to, address(p->src), from, p->count, p->stream));
}

RUNTIME_STREAM_API(cudaMemcpyBatchAsync, v13000, v13000)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuMemcpyBatchAsync_v2)(
        (CUdeviceptr *)(uintptr_t)p->dsts, (CUdeviceptr *)(uintptr_t)p->srcs, (size_t *)(uintptr_t)p->sizes, p->count,
        (CUmemcpyAttributes *)(void *)p->attrs, p->attrsIdxs, p->numAttrs, p->stream));
}

RUNTIME_STREAM_API(cudaMemcpy3DBatchAsync, v13000, v13000)
{
    _Static_assert(sizeof(struct cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP), "one layout, two names");
    NEED_CONTEXT();
    return DRIVER(
        PICK(cuMemcpy3DBatchAsync_v2)(p->numOps, (CUDA_MEMCPY3D_BATCH_OP *)(void *)p->opList, p->flags, p->stream));
}

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

RUNTIME_SYNC_API(cudaMemcpyToSymbol, v3020, v7000)
{
    void *to;
    TRY(symbol_at(p->symbol, p->offset, p->count, &to));
    return copy(to, p->src, p->count, p->kind, per_thread);
}

RUNTIME_SYNC_API(cudaMemcpyFromSymbol, v3020, v7000)
{
    void *from;
    TRY(symbol_at(p->symbol, p->offset, p->count, &from));
    return copy(p->dst, from, p->count, p->kind, per_thread);
}

RUNTIME_STREAM_API(cudaMemcpyToSymbolAsync, v3020, v7000)
{
    void *to;
    TRY(symbol_at(p->symbol, p->offset, p->count, &to));
    return copy_async(to, p->src, p->count, p->kind, p->stream, per_thread);
}

RUNTIME_STREAM_API(cudaMemcpyFromSymbolAsync, v3020, v7000)
{
    void *from;
    TRY(symbol_at(p->symbol, p->offset, p->count, &from));
    return copy_async(p->dst, from, p->count, p->kind, p->stream, per_thread);
}

/* ---- planes and boxes ---- */

RUNTIME_SYNC_API(cudaMemcpy2D, v3020, v7000)
{
    NEED_CONTEXT();
    const CUDA_MEMCPY2D shape = shape_plane(p->dst, p->dpitch, p->src, p->spitch, p->width, p->height);
    return DRIVER(PICK_SYNC(cuMemcpy2DUnaligned_v2)(&shape));
}

RUNTIME_STREAM_API(cudaMemcpy2DAsync, v3020, v7000)
{
    NEED_CONTEXT();
    const CUDA_MEMCPY2D shape = shape_plane(p->dst, p->dpitch, p->src, p->spitch, p->width, p->height);
    return DRIVER(PICK(cuMemcpy2DAsync_v2)(&shape, p->stream));
}

RUNTIME_SYNC_API(cudaMemcpy3D, v3020, v7000)
{
    NEED_VALUE(p->p);
    NEED_CONTEXT();
    const CUDA_MEMCPY3D shape = shape_box(p->p);
    return DRIVER(PICK_SYNC(cuMemcpy3D_v2)(&shape));
}

RUNTIME_STREAM_API(cudaMemcpy3DAsync, v3020, v7000)
{
    NEED_VALUE(p->p);
    NEED_CONTEXT();
    const CUDA_MEMCPY3D shape = shape_box(p->p);
    return DRIVER(PICK(cuMemcpy3DAsync_v2)(&shape, p->stream));
}

static CUDA_MEMCPY3D_PEER shape_peers(const struct cudaMemcpy3DPeerParms *s, CUcontext to, CUcontext from)
{
    const struct cudaMemcpy3DParms plain = {s->srcArray, s->srcPos, s->srcPtr, s->dstArray,
                                            s->dstPos,   s->dstPtr, s->extent, cudaMemcpyDefault};
    const CUDA_MEMCPY3D box = shape_box(&plain);
    CUDA_MEMCPY3D_PEER shape;
    memcpy(&shape, &box, sizeof(shape)); /* one layout, but for the contexts */
    shape.srcContext = from;
    shape.dstContext = to;
    return shape;
}

RUNTIME_SYNC_API(cudaMemcpy3DPeer, v4000, v7000)
{
    NEED_VALUE(p->p);
    NEED_CONTEXT();
    CUcontext to, from;
    TRY(runtime_primary(p->p->dstDevice, &to));
    TRY(runtime_primary(p->p->srcDevice, &from));
    const CUDA_MEMCPY3D_PEER shape = shape_peers(p->p, to, from);
    return DRIVER(PICK_SYNC(cuMemcpy3DPeer)(&shape));
}

RUNTIME_STREAM_API(cudaMemcpy3DPeerAsync, v4000, v7000)
{
    NEED_VALUE(p->p);
    NEED_CONTEXT();
    CUcontext to, from;
    TRY(runtime_primary(p->p->dstDevice, &to));
    TRY(runtime_primary(p->p->srcDevice, &from));
    const CUDA_MEMCPY3D_PEER shape = shape_peers(p->p, to, from);
    return DRIVER(PICK(cuMemcpy3DPeerAsync)(&shape, p->stream));
}

/* ---- sets ---- */

RUNTIME_SYNC_API(cudaMemset, v3020, v7000)
{
    NEED_CONTEXT();
    return DRIVER(PICK_SYNC(cuMemsetD8_v2)(address(p->devPtr), (unsigned char)p->value, p->count));
}

RUNTIME_STREAM_API(cudaMemsetAsync, v3020, v7000)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuMemsetD8Async)(address(p->devPtr), (unsigned char)p->value, p->count, p->stream));
}

RUNTIME_SYNC_API(cudaMemset2D, v3020, v7000)
{
    NEED_CONTEXT();
    return DRIVER(
        PICK_SYNC(cuMemsetD2D8_v2)(address(p->devPtr), p->pitch, (unsigned char)p->value, p->width, p->height));
}

RUNTIME_STREAM_API(cudaMemset2DAsync, v3020, v7000)
{
    NEED_CONTEXT();
    return DRIVER(
        PICK(cuMemsetD2D8Async)(address(p->devPtr), p->pitch, (unsigned char)p->value, p->width, p->height, p->stream));
}

RUNTIME_SYNC_API(cudaMemset3D, v3020, v7000)
{
    NEED_CONTEXT();
    return DRIVER(PICK_SYNC(cuMemsetD2D8_v2)(address(p->pitchedDevPtr.ptr), p->pitchedDevPtr.pitch,
                                             (unsigned char)p->value, p->extent.width,
                                             p->extent.height * p->extent.depth));
}

RUNTIME_STREAM_API(cudaMemset3DAsync, v3020, v7000)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuMemsetD2D8Async)(address(p->pitchedDevPtr.ptr), p->pitchedDevPtr.pitch,
                                          (unsigned char)p->value, p->extent.width, p->extent.height * p->extent.depth,
                                          p->stream));
}
