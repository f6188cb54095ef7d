/* The driver API: setting memory. One shape of entry for each size of element. */
#include "core/api.h"
#include "core/memory.h"
#include "core/stream.h"
#include "cuda/need.h"

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
    return stream_submit(stream, &op, false); /* the host does not wait for it, sync or async */
}

#define SET(bits, type, field)                                                                                    \
    DRIVER_SYNC_API(cuMemsetD##bits##_v2, (CUdeviceptr dstDevice, type field, size_t N), dstDevice, field, N)     \
    {                                                                                                             \
        return set(p->dstDevice, 0, p->field, bits / 8, p->N, 1, stream_resolve(NULL, per_thread), false);        \
    }                                                                                                             \
    DRIVER_STREAM_API(cuMemsetD##bits##Async, (CUdeviceptr dstDevice, type field, size_t N, CUstream hStream),    \
                      dstDevice, field, N, hStream)                                                               \
    {                                                                                                             \
        return set(p->dstDevice, 0, p->field, bits / 8, p->N, 1, stream_resolve(p->hStream, per_thread), true);   \
    }                                                                                                             \
    DRIVER_SYNC_API(cuMemsetD2D##bits##_v2,                                                                       \
                    (CUdeviceptr dstDevice, size_t dstPitch, type field, size_t Width, size_t Height), dstDevice, \
                    dstPitch, field, Width, Height)                                                               \
    {                                                                                                             \
        return set(p->dstDevice, p->dstPitch, p->field, bits / 8, p->Width, p->Height,                            \
                   stream_resolve(NULL, per_thread), false);                                                      \
    }                                                                                                             \
    DRIVER_STREAM_API(                                                                                            \
        cuMemsetD2D##bits##Async,                                                                                 \
        (CUdeviceptr dstDevice, size_t dstPitch, type field, size_t Width, size_t Height, CUstream hStream),      \
        dstDevice, dstPitch, field, Width, Height, hStream)                                                       \
    {                                                                                                             \
        return set(p->dstDevice, p->dstPitch, p->field, bits / 8, p->Width, p->Height,                            \
                   stream_resolve(p->hStream, per_thread), true);                                                 \
    }

SET(8, unsigned char, uc)
SET(16, unsigned short, us)
SET(32, unsigned, ui)
