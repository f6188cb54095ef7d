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
