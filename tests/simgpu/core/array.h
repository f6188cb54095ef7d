/* Arrays: memory with a shape. Laid out in rows here. A mipmapped array has several in one piece of memory, each half
 * as large as the one before. */
#ifndef SIMGPU_CORE_ARRAY_H
#define SIMGPU_CORE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

struct CUarray_st {
    CUDA_ARRAY3D_DESCRIPTOR shape;
    size_t element, pitch, height, depth; /* bytes, bytes, rows, planes */
    uint8_t *address;
};

CUresult array_create(CUcontext context, const CUDA_ARRAY3D_DESCRIPTOR *shape, CUarray *array);
/* Not of a mipmapped array's. */
CUresult array_destroy(CUarray array);

/* SHAPE is that of its first array. It gets no more than LEVELS, and no more than there can be. */
CUresult mipmap_create(CUcontext context, const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels,
                       CUmipmappedArray *mipmap);
CUresult mipmap_destroy(CUmipmappedArray mipmap);

#endif
