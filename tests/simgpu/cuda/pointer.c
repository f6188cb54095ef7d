/* The driver API: what a pointer is. */
#include <string.h>

#include "core/api.h"
#include "core/context.h"
#include "core/memory.h"
#include "cuda/need.h"

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
