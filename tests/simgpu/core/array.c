#include "core/array.h"

#include <stdbool.h>
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

/* Fills in what follows from SHAPE. False when there is no such array. */
static bool array_init(struct CUarray_st *array, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    array->shape = *shape;
    array->element = array_format_size(shape->Format) * shape->NumChannels;
    array->pitch = array->element * shape->Width;
    array->height = shape->Height ? shape->Height : 1;
    array->depth = shape->Depth ? shape->Depth : 1;
    return array->pitch != 0;
}

static size_t array_bytes(const struct CUarray_st *array)
{
    return array->pitch * array->height * array->depth;
}

static CUresult array_allocate(CUcontext context, size_t bytes, uint8_t **out)
{
    void *address = NULL;
    CUresult result = memory_allocate(context, MEMORY_ARRAY, bytes, 0, NULL, &address);
    struct memory_range range;
    if (result == CUDA_SUCCESS && memory_find(address, &range))
        records_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, &range, NULL);
    *out = address;
    return result;
}

static CUresult array_release(uint8_t *address)
{
    struct memory_range range;
    if (!memory_find(address, &range))
        return CUDA_ERROR_INVALID_HANDLE;
    context_wait(range.context);
    records_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, &range, NULL);
    return memory_release(address, 1u << MEMORY_ARRAY);
}

CUresult array_create(CUcontext context, const CUDA_ARRAY3D_DESCRIPTOR *shape, CUarray *out)
{
    struct CUarray_st array;
    if (!array_init(&array, shape))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = array_allocate(context, array_bytes(&array), &array.address);
    if (result != CUDA_SUCCESS)
        return result;
    *out = malloc(sizeof(array));
    if (!*out)
        abort();
    **out = array;
    return CUDA_SUCCESS;
}

CUresult array_destroy(CUarray array)
{
    CUresult result = array_release(array->address);
    free(array);
    return result;
}

/* ---- mipmapped ---- */

struct CUmipmappedArray_st {
    unsigned count;
    struct CUarray_st levels[];
};

static size_t mipmap_half(size_t extent)
{
    return extent > 1 ? extent / 2 : extent; /* 0 stays: there is no such dimension */
}

static bool mipmap_smallest(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    return shape->Width <= 1 && shape->Height <= 1 && shape->Depth <= 1;
}

CUresult mipmap_create(CUcontext context, const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels, CUmipmappedArray *out)
{
    CUDA_ARRAY3D_DESCRIPTOR level = *shape;
    unsigned count = 1;
    for (; count < levels && !mipmap_smallest(&level); count++) {
        level.Width = mipmap_half(level.Width);
        level.Height = mipmap_half(level.Height);
        level.Depth = mipmap_half(level.Depth);
    }
    struct CUmipmappedArray_st *mipmap = calloc(1, sizeof(*mipmap) + count * sizeof(mipmap->levels[0]));
    if (!mipmap)
        abort();
    size_t bytes = 0;
    level = *shape;
    for (; mipmap->count < count && array_init(&mipmap->levels[mipmap->count], &level); mipmap->count++) {
        bytes += array_bytes(&mipmap->levels[mipmap->count]);
        level.Width = mipmap_half(level.Width);
        level.Height = mipmap_half(level.Height);
        level.Depth = mipmap_half(level.Depth);
    }
    uint8_t *address;
    CUresult result = mipmap->count ? array_allocate(context, bytes, &address) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS) {
        free(mipmap);
        return result;
    }
    for (unsigned i = 0; i < mipmap->count; i++) {
        mipmap->levels[i].address = address;
        address += array_bytes(&mipmap->levels[i]);
    }
    *out = mipmap;
    return CUDA_SUCCESS;
}

CUresult mipmap_destroy(CUmipmappedArray mipmap)
{
    CUresult result = array_release(mipmap->levels[0].address);
    free(mipmap);
    return result;
}
