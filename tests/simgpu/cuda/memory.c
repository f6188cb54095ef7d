/* The driver API: memory of the device, of the host, and managed. */
#include <string.h>

#include "core/memory.h"
#include "core/api.h"
#include "core/capture.h"
#include "core/config.h"
#include "core/records.h"
#include "cuda/need.h"

enum { PITCH = 512 };

/* These are not permitted while a stream is captured, in most modes. */
#define NEED_SAFE() NEED(capture_refuse_unsafe() == CUDA_SUCCESS, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)

static CUresult allocate(enum memory_origin origin, size_t size, unsigned flags, void **address)
{
    NEED_CONTEXT(context);
    NEED_SAFE();
    CUresult result = memory_allocate(context, origin, size, flags, NULL, address);
    struct memory_range range;
    if (result == CUDA_SUCCESS && memory_find(*address, &range))
        records_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, &range, NULL);
    return result;
}

/* Frees after all that the device does with it, as the real one. */
static CUresult release(void *address, unsigned origins)
{
    struct memory_range range;
    NEED_SAFE();
    NEED_VALUE(memory_find(address, &range) && range.address == address && (origins >> range.origin) & 1);
    context_wait(range.context);
    records_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, &range, NULL);
    return memory_release(address, origins);
}

static void *pointer(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

DRIVER_API(cuMemGetInfo_v2)
{
    NEED_VALUE(p->free && p->total);
    NEED_CONTEXT(context);
    *p->free = memory_free(context->device);
    *p->total = config()->memory;
    return CUDA_SUCCESS;
}

DRIVER_API(cuMemAlloc_v2)
{
    NEED_VALUE(p->dptr);
    void *address = NULL;
    CUresult result = allocate(MEMORY_DEVICE, p->bytesize, 0, &address);
    if (result == CUDA_SUCCESS)
        *p->dptr = (uintptr_t)address;
    return result;
}

DRIVER_API(cuMemAllocPitch_v2)
{
    NEED_VALUE(p->dptr && p->pPitch && p->WidthInBytes && p->Height);
    size_t pitch = (p->WidthInBytes + PITCH - 1) / PITCH * PITCH;
    void *address = NULL;
    CUresult result = allocate(MEMORY_DEVICE, pitch * p->Height, 0, &address);
    if (result == CUDA_SUCCESS) {
        *p->dptr = (uintptr_t)address;
        *p->pPitch = pitch;
    }
    return result;
}

DRIVER_API(cuMemAllocManaged)
{
    NEED_VALUE(p->dptr);
    void *address = NULL;
    CUresult result = allocate(MEMORY_MANAGED, p->bytesize, p->flags, &address);
    if (result == CUDA_SUCCESS)
        *p->dptr = (uintptr_t)address;
    return result;
}

DRIVER_API(cuMemFree_v2)
{
    if (!p->dptr)
        return CUDA_SUCCESS;
    return release(pointer(p->dptr), 1u << MEMORY_DEVICE | 1u << MEMORY_MANAGED | 1u << MEMORY_ASYNC);
}

DRIVER_API(cuMemAllocHost_v2)
{
    return allocate(MEMORY_HOST, p->bytesize, 0, p->pp);
}

DRIVER_API(cuMemHostAlloc)
{
    return allocate(MEMORY_HOST, p->bytesize, p->Flags, p->pp);
}

DRIVER_API(cuMemFreeHost)
{
    return p->p ? release(p->p, 1u << MEMORY_HOST) : CUDA_SUCCESS;
}

DRIVER_API(cuMemHostRegister_v2)
{
    NEED_VALUE(p->p && p->bytesize);
    NEED_CONTEXT(context);
    const struct memory_range range = {.address = p->p,
                                       .size = p->bytesize,
                                       .origin = MEMORY_REGISTERED,
                                       .device = context->device,
                                       .context = context,
                                       .flags = p->Flags};
    CUresult result = memory_enter(&range);
    if (result == CUDA_SUCCESS)
        records_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, &range, NULL);
    return result;
}

DRIVER_API(cuMemHostUnregister)
{
    struct memory_range range;
    CUresult result = memory_remove(p->p, MEMORY_REGISTERED, &range);
    if (result == CUDA_SUCCESS)
        records_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, &range, NULL);
    return result;
}

DRIVER_API(cuMemGetAddressRange_v2)
{
    struct memory_range range;
    NEED(memory_find(pointer(p->dptr), &range), CUDA_ERROR_NOT_FOUND);
    if (p->pbase)
        *p->pbase = (uintptr_t)range.address;
    if (p->psize)
        *p->psize = range.size;
    return CUDA_SUCCESS;
}

DRIVER_STREAM_API(cuMemPrefetchAsync_v2)
{
    struct memory_range range;
    NEED_VALUE(memory_find(pointer(p->devPtr), &range));
    records_migration(p->devPtr, p->count, p->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? p->location.id : -1);
    return CUDA_SUCCESS;
}

/* ---- what a pointer is ---- */

static CUmemorytype memory_type(const struct memory_range *range)
{
    return range->origin == MEMORY_HOST || range->origin == MEMORY_REGISTERED ? CU_MEMORYTYPE_HOST
                                                                              : CU_MEMORYTYPE_DEVICE;
}

/* Puts a value of its own type where DATA points. */
#define ANSWER(type, value)      \
    do {                         \
        *(type *)data = (value); \
        return CUDA_SUCCESS;     \
    } while (0)

static CUresult pointer_attribute(void *data, CUpointer_attribute attribute, const struct memory_range *range,
                                  CUdeviceptr pointer)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: ANSWER(CUcontext, range->context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: ANSWER(CUmemorytype, memory_type(range));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: ANSWER(CUdeviceptr, pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: ANSWER(void *, (void *)(uintptr_t)pointer);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: ANSWER(int, 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: ANSWER(unsigned long long, range->id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: ANSWER(int, range->origin == MEMORY_MANAGED);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: ANSWER(int, range->device->ordinal);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: ANSWER(CUdeviceptr, (uintptr_t)range->address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: ANSWER(size_t, range->size);
    case CU_POINTER_ATTRIBUTE_MAPPED: ANSWER(int, 1);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: ANSWER(CUmemoryPool, range->pool);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

DRIVER_API(cuPointerGetAttribute)
{
    struct memory_range range;
    NEED_VALUE(p->data && memory_find((const void *)(uintptr_t)p->ptr, &range));
    return pointer_attribute(p->data, p->attribute, &range, p->ptr);
}

/* Unlike the one above it answers for strange pointers too: with zeros. */
DRIVER_API(cuPointerGetAttributes)
{
    NEED_VALUE(p->attributes && p->data);
    struct memory_range range;
    bool known = memory_find((const void *)(uintptr_t)p->ptr, &range);
    for (unsigned i = 0; i < p->numAttributes; i++) {
        if (known)
            pointer_attribute(p->data[i], p->attributes[i], &range, p->ptr);
        else if (p->attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)p->data[i] = -2;
        else if (p->attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
                 p->attributes[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED)
            *(int *)p->data[i] = 0;
        else
            *(void **)p->data[i] = NULL;
    }
    return CUDA_SUCCESS;
}
