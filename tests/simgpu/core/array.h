/* Arrays: memory with a shape. Laid out in rows here. */
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
CUresult array_destroy(CUarray array);

#endif
