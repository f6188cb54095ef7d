#include "agent/cupti/array_bytes.h"

#include <stdbool.h>
#include <stddef.h>

static uint64_t channel_bytes(CUarray_format format)
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
    default: return 1;
    }
}

uint64_t array_bytes_3d(const CUDA_ARRAY3D_DESCRIPTOR *array)
{
    if (!array)
        return 0;
    uint64_t height = array->Height ? array->Height : 1;
    uint64_t depth = array->Depth ? array->Depth : 1;
    return array->Width * height * depth * array->NumChannels * channel_bytes(array->Format);
}

uint64_t array_bytes_2d(const CUDA_ARRAY_DESCRIPTOR *array)
{
    if (!array)
        return 0;
    CUDA_ARRAY3D_DESCRIPTOR flat = {
        .Width = array->Width, .Height = array->Height, .Format = array->Format, .NumChannels = array->NumChannels};
    return array_bytes_3d(&flat);
}

static size_t halved(size_t extent)
{
    return extent > 1 ? extent / 2 : extent;
}

/* The driver makes one level at least, and none below a single texel. Layers are as many at every level. */
uint64_t array_bytes_mipmapped(const CUDA_ARRAY3D_DESCRIPTOR *array, unsigned levels)
{
    if (!array)
        return 0;
    CUDA_ARRAY3D_DESCRIPTOR level = *array;
    bool layered = (array->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    uint64_t bytes = array_bytes_3d(&level);
    while (levels-- > 1 && (level.Width > 1 || level.Height > 1 || (level.Depth > 1 && !layered))) {
        level.Width = halved(level.Width);
        level.Height = halved(level.Height);
        level.Depth = layered ? level.Depth : halved(level.Depth);
        bytes += array_bytes_3d(&level);
    }
    return bytes;
}
