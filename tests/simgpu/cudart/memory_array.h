/* The runtime's arrays are the driver's, under another type. */
#ifndef SIMGPU_CUDART_MEMORY_ARRAY_H
#define SIMGPU_CUDART_MEMORY_ARRAY_H

#include <cupti.h>

static inline CUarray array_to_driver(cudaArray_const_t array)
{
    return (CUarray)(uintptr_t)array;
}

static inline cudaArray_t array_to_runtime(CUarray array)
{
    return (cudaArray_t)(void *)array;
}

#endif
