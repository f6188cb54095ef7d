/* Making copies of the many ways in which CUDA describes them, and putting them into streams. */
#ifndef SIMGPU_CORE_COPY_H
#define SIMGPU_CORE_COPY_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>

#include "core/op.h"

/* BYTES in a row. */
struct op_copy copy_linear(const void *to, const void *from, size_t bytes);
/* Of the box that SHAPE describes. */
struct op_copy copy_box(const CUDA_MEMCPY3D *shape);
/* SHAPE as a box of one plane. */
CUDA_MEMCPY3D copy_plane(const CUDA_MEMCPY2D *shape);
/* The part of an array of one row that begins at OFFSET bytes. */
void *copy_array_at(CUarray array, size_t offset);
/* The box that COPY is. */
CUDA_MEMCPY3D copy_describe(const struct op_copy *copy);

/*
 * Puts COPY into STREAM. Comes back when it is done if it is not ASYNC, or if it goes to pageable memory, as the real
 * one does; what comes from pageable memory has been read when this returns.
 */
CUresult copy_submit(struct op_copy copy, CUstream stream, bool async);

#endif
