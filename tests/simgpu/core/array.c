#include "core/array.h"

#include <stdlib.h>

#include "core/context.h"
#include "core/memory.h"
#include "core/records.h"

static size_t array_format_size(CUarray_format format)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
    }
}

CUresult array_create(CUcontext context, const CUDA_ARRAY3D_DESCRIPTOR *shape, CUarray *out)
{
    size_t element = array_format_size(shape->Format) * shape->NumChannels;
    if (!element || !shape->Width)
        return CUDA_ERROR_INVALID_VALUE;
    CUarray array = calloc(1, sizeof(*array));
    if (!array)
        return CUDA_ERROR_OUT_OF_MEMORY;
    array->shape = *shape;
    array->element = element;
    array->pitch = element * shape->Width;
    array->height = shape->Height ? shape->Height : 1;
    array->depth = shape->Depth ? shape->Depth : 1;
    void *address = NULL;
    CUresult result =
        memory_allocate(context, MEMORY_ARRAY, array->pitch * array->height * array->depth, 0, NULL, &address);
    struct memory_range range;
    if (result == CUDA_SUCCESS && memory_find(address, &range))
        records_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, &range, NULL);
    array->address = address;
    if (result != CUDA_SUCCESS)
        free(array);
    else
        *out = array;
    return result;
}

CUresult array_destroy(CUarray array)
{
    struct memory_range range;
    if (!memory_find(array->address, &range))
        return CUDA_ERROR_INVALID_HANDLE;
    context_wait(range.context);
    records_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, &range, NULL);
    CUresult result = memory_release(array->address, 1u << MEMORY_ARRAY);
    free(array);
    return result;
}
