/*
 * Copies by the batch: what they copy stands in arrays of the program's.
 *
 * Of a batch that failed nobody knows how much the driver had read before: it is told once, as a copy of nothing, and
 * its arrays are not looked at.
 */
#include "agent/cupti/copies.h"

static void tell_broken_batch(const struct driver_return *returned, size_t count, CUstream stream)
{
    struct gputrace_memcpy copy = copy_begin(returned);
    copy.count = (uint32_t)count;
    copy_set_stream(&copy, returned, stream);
    registry_memcpy_publish(&copy);
}

static void tell_batch(const struct driver_return *returned, const CUdeviceptr *targets, const CUdeviceptr *sources,
                       const size_t *sizes, size_t count, CUstream stream)
{
    if (!driver_call_done(returned)) {
        tell_broken_batch(returned, count, stream);
        return;
    }
    struct gputrace_memcpy copy = copy_begin(returned);
    copy.count = (uint32_t)count;
    copy_set_stream(&copy, returned, stream);
    for (size_t i = 0; i < count; i++) {
        copy.index = (uint32_t)i;
        copy.target.address = targets[i];
        copy.source.address = sources[i];
        copy_set_extent(&copy, sizes[i], 1, 1);
        registry_memcpy_publish(&copy);
    }
}

/* Rows and layers are counted in elements: bytes between two pointers; beside an array, of the array's size, which the
 * call does not tell. Then the pointer's pitch stays untold, and an element counts a byte, which is the least. */
static char read_operand(const CUmemcpy3DOperand *operand, bool bytes, const CUextent3D *extent,
                         struct gputrace_place *place)
{
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        const CUoffset3D *offset = &operand->op.array.offset;
        *place = (struct gputrace_place){
            .address = driver_call_integer(operand->op.array.array),
            .array = 1,
            .x = (uint32_t)offset->x,
            .y = (uint32_t)offset->y,
            .z = (uint32_t)offset->z,
        };
        return 'A';
    }
    *place = (struct gputrace_place){.address = operand->op.ptr.ptr};
    if (bytes && (extent->height > 1 || extent->depth > 1))
        place->pitch = operand->op.ptr.rowLength ? operand->op.ptr.rowLength : extent->width;
    if (bytes && extent->depth > 1)
        place->rows = operand->op.ptr.layerHeight ? operand->op.ptr.layerHeight : extent->height;
    return '?';
}

static void tell_box_batch(const struct driver_return *returned, const CUDA_MEMCPY3D_BATCH_OP *operations, size_t count,
                           CUstream stream)
{
    if (!driver_call_done(returned)) {
        tell_broken_batch(returned, count, stream);
        return;
    }
    struct gputrace_memcpy copy = copy_begin(returned);
    copy.count = (uint32_t)count;
    copy_set_stream(&copy, returned, stream);
    for (size_t i = 0; i < count; i++) {
        const CUDA_MEMCPY3D_BATCH_OP *one = &operations[i];
        bool bytes = one->src.type != CU_MEMCPY_OPERAND_TYPE_ARRAY && one->dst.type != CU_MEMCPY_OPERAND_TYPE_ARRAY;
        copy.index = (uint32_t)i;
        copy_set_extent(&copy, one->extent.width, one->extent.height, one->extent.depth);
        copy.target_side = read_operand(&one->dst, bytes, &one->extent, &copy.target);
        copy.source_side = read_operand(&one->src, bytes, &one->extent, &copy.source);
        registry_memcpy_publish(&copy);
    }
}

#define TELL_BATCH(function)                                                    \
    static void tell_##function(const struct driver_return *returned)           \
    {                                                                           \
        const function##_params *p = returned->params;                          \
        tell_batch(returned, p->dsts, p->srcs, p->sizes, p->count, p->hStream); \
    }
#define TELL_BOX_BATCH(function)                                      \
    static void tell_##function(const struct driver_return *returned) \
    {                                                                 \
        const function##_params *p = returned->params;                \
        tell_box_batch(returned, p->opList, p->numOps, p->hStream);   \
    }

TELL_BATCH(cuMemcpyBatchAsync)
TELL_BATCH(cuMemcpyBatchAsync_v2)
TELL_BOX_BATCH(cuMemcpy3DBatchAsync)
TELL_BOX_BATCH(cuMemcpy3DBatchAsync_v2)

#define COPY REGISTRY_BIT(memcpy)

static const struct driver_call rows[] = {
    DRIVER_CALL_PTSZ(cuMemcpyBatchAsync, COPY, tell_cuMemcpyBatchAsync, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyBatchAsync_v2, COPY, tell_cuMemcpyBatchAsync_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpy3DBatchAsync, COPY, tell_cuMemcpy3DBatchAsync, NULL),
    DRIVER_CALL_PTSZ(cuMemcpy3DBatchAsync_v2, COPY, tell_cuMemcpy3DBatchAsync_v2, NULL),
};

const struct driver_calls copy_batch_calls = DRIVER_CALLS(rows);
