#include "injected/collect/memory_calls.h"

#include <stddef.h>

static uint64_t integer(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static bool done(const struct memory_event *event)
{
    return event->result == 0;
}

/* Readers of calls that are alike but for the type of their parameters. */
#define READ_DEVICE(call)                                                                         \
    static void read_##call(const void *parameters, struct memory_event *event, CUstream *stream) \
    {                                                                                             \
        const call##_params *p = parameters;                                                      \
        (void)stream;                                                                             \
        event->size = p->bytesize;                                                                \
        event->address = done(event) ? (uint64_t)*p->dptr : 0;                                    \
    }
#define READ_HOST(call)                                                                           \
    static void read_##call(const void *parameters, struct memory_event *event, CUstream *stream) \
    {                                                                                             \
        const call##_params *p = parameters;                                                      \
        (void)stream;                                                                             \
        event->size = p->bytesize;                                                                \
        event->address = done(event) ? integer(*p->pp) : 0;                                       \
    }
#define READ_REGISTERED(call)                                                                     \
    static void read_##call(const void *parameters, struct memory_event *event, CUstream *stream) \
    {                                                                                             \
        const call##_params *p = parameters;                                                      \
        (void)stream;                                                                             \
        event->size = p->bytesize;                                                                \
        event->address = integer(p->p);                                                           \
    }
#define READ_STREAM(call)                                                                         \
    static void read_##call(const void *parameters, struct memory_event *event, CUstream *stream) \
    {                                                                                             \
        const call##_params *p = parameters;                                                      \
        event->size = p->bytesize;                                                                \
        event->address = done(event) ? (uint64_t)*p->dptr : 0;                                    \
        *stream = p->hStream;                                                                     \
    }
#define READ_POOL(call)                                                                           \
    static void read_##call(const void *parameters, struct memory_event *event, CUstream *stream) \
    {                                                                                             \
        const call##_params *p = parameters;                                                      \
        event->size = p->bytesize;                                                                \
        event->address = done(event) ? (uint64_t)*p->dptr : 0;                                    \
        event->pool = integer(p->pool);                                                           \
        *stream = p->hStream;                                                                     \
    }
#define READ_RELEASE(call, field)                                                                 \
    static void read_##call(const void *parameters, struct memory_event *event, CUstream *stream) \
    {                                                                                             \
        (void)stream;                                                                             \
        event->address = (uint64_t)((const call##_params *)parameters)->field;                    \
    }
#define READ_RELEASE_STREAM(call)                                                                 \
    static void read_##call(const void *parameters, struct memory_event *event, CUstream *stream) \
    {                                                                                             \
        const call##_params *p = parameters;                                                      \
        event->address = (uint64_t)p->dptr;                                                       \
        *stream = p->hStream;                                                                     \
    }

READ_DEVICE(cuMemAlloc_v2)
READ_DEVICE(cuMemAllocManaged)
READ_HOST(cuMemHostAlloc)
READ_HOST(cuMemAllocHost_v2)
READ_REGISTERED(cuMemHostRegister)
READ_REGISTERED(cuMemHostRegister_v2)
READ_STREAM(cuMemAllocAsync)
READ_STREAM(cuMemAllocAsync_ptsz)
READ_POOL(cuMemAllocFromPoolAsync)
READ_POOL(cuMemAllocFromPoolAsync_ptsz)
READ_RELEASE(cuMemFree_v2, dptr)
READ_RELEASE(cuMemFreeHost, p)
READ_RELEASE(cuMemHostUnregister, p)
READ_RELEASE(cuArrayDestroy, hArray)
READ_RELEASE(cuMipmappedArrayDestroy, hMipmappedArray)
READ_RELEASE(cuMemRelease, handle)
READ_RELEASE_STREAM(cuMemFreeAsync)
READ_RELEASE_STREAM(cuMemFreeAsync_ptsz)

static void read_cuMemAllocPitch_v2(const void *parameters, struct memory_event *event, CUstream *stream)
{
    const cuMemAllocPitch_v2_params *p = parameters;
    (void)stream;
    event->size = (done(event) ? *p->pPitch : p->WidthInBytes) * p->Height;
    event->address = done(event) ? (uint64_t)*p->dptr : 0;
}

static void read_cuMemCreate(const void *parameters, struct memory_event *event, CUstream *stream)
{
    const cuMemCreate_params *p = parameters;
    (void)stream;
    event->size = p->size;
    event->address = done(event) ? (uint64_t)*p->handle : 0;
    if (p->prop && p->prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        event->device = SPOOL_NO_DEVICE;
    else if (p->prop)
        event->device = (uint32_t)p->prop->location.id;
}

static uint64_t element_bytes(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 1; /* block-compressed and video formats: a texel's size differs by plane; this is the least */
    }
}

/* Bytes of the texels, without the padding that the driver adds. */
static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *array)
{
    uint64_t height = array->Height ? array->Height : 1;
    uint64_t depth = array->Depth ? array->Depth : 1;
    return array->Width * height * depth * array->NumChannels * element_bytes(array->Format);
}

static void read_cuArray3DCreate_v2(const void *parameters, struct memory_event *event, CUstream *stream)
{
    const cuArray3DCreate_v2_params *p = parameters;
    (void)stream;
    event->size = p->pAllocateArray ? array_bytes(p->pAllocateArray) : 0;
    event->address = done(event) ? integer(*p->pHandle) : 0;
}

static void read_cuArrayCreate_v2(const void *parameters, struct memory_event *event, CUstream *stream)
{
    const cuArrayCreate_v2_params *p = parameters;
    const CUDA_ARRAY_DESCRIPTOR *array = p->pAllocateArray;
    (void)stream;
    if (array) {
        CUDA_ARRAY3D_DESCRIPTOR flat = {
            .Width = array->Width, .Height = array->Height, .Format = array->Format, .NumChannels = array->NumChannels};
        event->size = array_bytes(&flat);
    }
    event->address = done(event) ? integer(*p->pHandle) : 0;
}

static void read_cuMipmappedArrayCreate(const void *parameters, struct memory_event *event, CUstream *stream)
{
    const cuMipmappedArrayCreate_params *p = parameters;
    (void)stream;
    if (p->pMipmappedArrayDesc) {
        CUDA_ARRAY3D_DESCRIPTOR level = *p->pMipmappedArrayDesc;
        for (unsigned i = 0; i < p->numMipmapLevels && level.Width > 0; i++) {
            event->size += array_bytes(&level);
            level.Width /= 2;
            level.Height = level.Height > 1 ? level.Height / 2 : level.Height;
            level.Depth = level.Depth > 1 ? level.Depth / 2 : level.Depth;
        }
    }
    event->address = done(event) ? integer(*p->pHandle) : 0;
}

#define ALLOCATES(call, kind)                                                                   \
    {                                                                                           \
        CUPTI_DRIVER_TRACE_CBID_##call, SPOOL_MEMORY_ALLOCATE, SPOOL_MEMORY_##kind, read_##call \
    }
#define RELEASES(call, kind)                                                                   \
    {                                                                                          \
        CUPTI_DRIVER_TRACE_CBID_##call, SPOOL_MEMORY_RELEASE, SPOOL_MEMORY_##kind, read_##call \
    }

const struct memory_call memory_calls[] = {
    ALLOCATES(cuMemAlloc_v2, DEVICE),
    ALLOCATES(cuMemAllocPitch_v2, DEVICE),
    ALLOCATES(cuMemAllocManaged, MANAGED),
    ALLOCATES(cuMemHostAlloc, PINNED),
    ALLOCATES(cuMemAllocHost_v2, PINNED),
    ALLOCATES(cuMemHostRegister, REGISTERED),
    ALLOCATES(cuMemHostRegister_v2, REGISTERED),
    ALLOCATES(cuArrayCreate_v2, ARRAY),
    ALLOCATES(cuArray3DCreate_v2, ARRAY),
    ALLOCATES(cuMipmappedArrayCreate, ARRAY),
    ALLOCATES(cuMemAllocAsync, POOL),
    ALLOCATES(cuMemAllocAsync_ptsz, POOL),
    ALLOCATES(cuMemAllocFromPoolAsync, POOL),
    ALLOCATES(cuMemAllocFromPoolAsync_ptsz, POOL),
    ALLOCATES(cuMemCreate, VIRTUAL),
    RELEASES(cuMemFree_v2, UNKNOWN), /* device, managed and stream-ordered memory alike */
    RELEASES(cuMemFreeAsync, UNKNOWN),
    RELEASES(cuMemFreeAsync_ptsz, UNKNOWN),
    RELEASES(cuMemFreeHost, PINNED),
    RELEASES(cuMemHostUnregister, REGISTERED),
    RELEASES(cuArrayDestroy, ARRAY),
    RELEASES(cuMipmappedArrayDestroy, ARRAY),
    RELEASES(cuMemRelease, VIRTUAL),
};
const size_t memory_call_count = sizeof(memory_calls) / sizeof(memory_calls[0]);

const struct memory_call *memory_call_find(CUpti_CallbackId cbid)
{
    for (size_t i = 0; i < memory_call_count; i++)
        if (memory_calls[i].cbid == cbid)
            return &memory_calls[i];
    return NULL;
}
