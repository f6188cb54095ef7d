/* The runtime's arrays and descriptions of copies as the driver's. */
#ifndef SIMGPU_CUDART_SHAPE_H
#define SIMGPU_CUDART_SHAPE_H

#include <cupti.h>

/* The runtime's arrays are the driver's, under another type. */
static inline CUarray array_to_driver(cudaArray_const_t array)
{
    return (CUarray)(uintptr_t)array;
}

static inline cudaArray_t array_to_runtime(CUarray array)
{
    return (cudaArray_t)(void *)array;
}

CUDA_MEMCPY2D shape_plane(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height);
CUDA_MEMCPY3D shape_line(void *to, const void *from, size_t bytes);
/* Offsets and widths are in elements where an array is concerned. */
CUDA_MEMCPY3D shape_box(const struct cudaMemcpy3DParms *params);

#endif
