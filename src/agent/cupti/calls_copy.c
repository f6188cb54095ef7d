/*
 * Copies and sets of memory. First what the functions for copies share.
 */

#include "agent/cupti/driver_calls.h"

/* One copy of a call, in the default stream; its places and extent are still to be filled in. */
static inline struct gputrace_memcpy copy_begin(const struct driver_return *returned)
{
    return (struct gputrace_memcpy){
        .call = returned->call,
        .per_thread = returned->row->per_thread,
        .count = 1,
        .target_side = '?',
        .source_side = '?',
    };
}

/* WIDTH in bytes. */
static inline void copy_set_extent(struct gputrace_memcpy *copy, uint64_t width, uint64_t height, uint64_t depth)
{
    copy->width = width;
    copy->height = height;
    copy->depth = depth;
    copy->bytes = width * height * depth;
}

static inline void copy_set_stream(struct gputrace_memcpy *copy, const struct driver_return *returned, CUstream stream)
{
    copy->stream = driver_call_stream(returned, stream);
    copy->stream_given = 1;
}

/*
 * Copies: of rows, by cuMemcpyHtoD and its kin, from here; of rectangles, boxes and batches, calls_copy.c.
 */

/* One side of a copy of one row: memory, or an array from a byte on. */
static struct gputrace_place memory(uint64_t address)
{
    return (struct gputrace_place){.address = address};
}

static struct gputrace_place array(CUarray handle, size_t offset)
{
    return (struct gputrace_place){.address = driver_call_integer(handle), .array = 1, .x = (uint32_t)offset};
}

/* TARGET and SOURCE are expressions of `p`, the parameters; the letters are those of gputrace_memcpy's sides. */
#define PUBLISH(function, target_letter, target_place, source_letter, source_place, given) \
    static void publish_##function(const struct driver_return *returned)                   \
    {                                                                                      \
        const function##_params *p = returned->params;                                     \
        struct gputrace_memcpy copy = copy_begin(returned);                                \
        copy.target = target_place;                                                        \
        copy.target_side = target_letter;                                                  \
        copy.source = source_place;                                                        \
        copy.source_side = source_letter;                                                  \
        copy_set_extent(&copy, p->ByteCount, 1, 1);                                        \
        given;                                                                             \
        registry_memcpy_publish(&copy);                                                    \
    }
#define SYNC(function, target_letter, target, source_letter, source) \
    PUBLISH(function, target_letter, target, source_letter, source, (void)0)
#define ASYNC(function, target_letter, target, source_letter, source) \
    PUBLISH(function, target_letter, target, source_letter, source, copy_set_stream(&copy, returned, p->hStream))

#define HOST(side) memory(driver_call_integer(p->side##Host))
#define DEVICE(side) memory(p->side##Device)
#define ARRAY(side) array(p->side##Array, p->side##Offset)

SYNC(cuMemcpyHtoD_v2, 'D', DEVICE(dst), 'H', HOST(src))
SYNC(cuMemcpyDtoH_v2, 'H', HOST(dst), 'D', DEVICE(src))
SYNC(cuMemcpyDtoD_v2, 'D', DEVICE(dst), 'D', DEVICE(src))
SYNC(cuMemcpyDtoA_v2, 'A', ARRAY(dst), 'D', DEVICE(src))
SYNC(cuMemcpyAtoD_v2, 'D', DEVICE(dst), 'A', ARRAY(src))
SYNC(cuMemcpyHtoA_v2, 'A', ARRAY(dst), 'H', HOST(src))
SYNC(cuMemcpyAtoH_v2, 'H', HOST(dst), 'A', ARRAY(src))
SYNC(cuMemcpyAtoA_v2, 'A', ARRAY(dst), 'A', ARRAY(src))
SYNC(cuMemcpy, '?', memory(p->dst), '?', memory(p->src))
SYNC(cuMemcpyPeer, 'D', DEVICE(dst), 'D', DEVICE(src))
ASYNC(cuMemcpyHtoDAsync_v2, 'D', DEVICE(dst), 'H', HOST(src))
ASYNC(cuMemcpyDtoHAsync_v2, 'H', HOST(dst), 'D', DEVICE(src))
ASYNC(cuMemcpyDtoDAsync_v2, 'D', DEVICE(dst), 'D', DEVICE(src))
ASYNC(cuMemcpyHtoAAsync_v2, 'A', ARRAY(dst), 'H', HOST(src))
ASYNC(cuMemcpyAtoHAsync_v2, 'H', HOST(dst), 'A', ARRAY(src))
ASYNC(cuMemcpyAsync, '?', memory(p->dst), '?', memory(p->src))
ASYNC(cuMemcpyPeerAsync, 'D', DEVICE(dst), 'D', DEVICE(src))

#define COPY REGISTRY_BIT(memcpy)

static const struct driver_call copy_rows[] = {
    DRIVER_CALL_PTDS(cuMemcpyHtoD_v2, COPY, publish_cuMemcpyHtoD_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyDtoH_v2, COPY, publish_cuMemcpyDtoH_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyDtoD_v2, COPY, publish_cuMemcpyDtoD_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyDtoA_v2, COPY, publish_cuMemcpyDtoA_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyAtoD_v2, COPY, publish_cuMemcpyAtoD_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyHtoA_v2, COPY, publish_cuMemcpyHtoA_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyAtoH_v2, COPY, publish_cuMemcpyAtoH_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyAtoA_v2, COPY, publish_cuMemcpyAtoA_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpy, COPY, publish_cuMemcpy, NULL),
    DRIVER_CALL_PTDS(cuMemcpyPeer, COPY, publish_cuMemcpyPeer, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyHtoDAsync_v2, COPY, publish_cuMemcpyHtoDAsync_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyDtoHAsync_v2, COPY, publish_cuMemcpyDtoHAsync_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyDtoDAsync_v2, COPY, publish_cuMemcpyDtoDAsync_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyHtoAAsync_v2, COPY, publish_cuMemcpyHtoAAsync_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyAtoHAsync_v2, COPY, publish_cuMemcpyAtoHAsync_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyAsync, COPY, publish_cuMemcpyAsync, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyPeerAsync, COPY, publish_cuMemcpyPeerAsync, NULL),
};

const struct driver_calls copy_calls = DRIVER_CALLS(copy_rows);

/*
 * Copies of rectangles and boxes: what they copy stands in a struct of the program, which the call points to.
 *
 * Addresses are published with the offsets into them added. A struct that is not there (NULL: the call failed) is
 * published as a copy of nothing.
 */

/* A side as the structs for rectangles and boxes have it. */
struct side {
    CUmemorytype type;
    uint64_t host, device, array;
    uint64_t pitch, rows;
    uint64_t x, y, z;
};

/* Side `src` or `dst` of a rectangle, or of a box. */
#define RECTANGLE_SIDE(copied, which)                                                             \
    (struct side)                                                                                 \
    {                                                                                             \
        .type = (copied)->which##MemoryType, .host = driver_call_integer((copied)->which##Host),  \
        .device = (copied)->which##Device, .array = driver_call_integer((copied)->which##Array),  \
        .pitch = (copied)->which##Pitch, .x = (copied)->which##XInBytes, .y = (copied)->which##Y, \
    }
#define BOX_SIDE(copied, which) in_box(RECTANGLE_SIDE(copied, which), (copied)->which##Z, (copied)->which##Height)

static struct side in_box(struct side side, uint64_t z, uint64_t rows)
{
    side.z = z;
    side.rows = rows;
    return side;
}

static struct gputrace_place array_place(const struct side *side)
{
    return (struct gputrace_place){
        .address = side->array,
        .array = 1,
        .x = (uint32_t)side->x,
        .y = (uint32_t)side->y,
        .z = (uint32_t)side->z,
    };
}

/* HEIGHT and DEPTH of the copy say whether there is a next row or slice at all. */
static struct gputrace_place linear_place(const struct side *side, uint64_t base, uint64_t height, uint64_t depth)
{
    return (struct gputrace_place){
        .address = base + (side->z * side->rows + side->y) * side->pitch + side->x,
        .pitch = height > 1 || depth > 1 ? side->pitch : 0,
        .rows = depth > 1 ? side->rows : 0,
    };
}

/* Returns the letter of gputrace_memcpy's sides. */
static char read_side(const struct side *side, uint64_t height, uint64_t depth, struct gputrace_place *place)
{
    switch (side->type) {
    case CU_MEMORYTYPE_ARRAY: *place = array_place(side); return 'A';
    case CU_MEMORYTYPE_HOST: *place = linear_place(side, side->host, height, depth); return 'H';
    case CU_MEMORYTYPE_DEVICE: *place = linear_place(side, side->device, height, depth); return 'D';
    default: *place = linear_place(side, side->device, height, depth); return '?'; /* unified */
    }
}

static void set_sides(struct gputrace_memcpy *copy, struct side target, struct side source)
{
    copy->target_side = read_side(&target, copy->height, copy->depth, &copy->target);
    copy->source_side = read_side(&source, copy->height, copy->depth, &copy->source);
}

#define PUBLISH_SHAPE(function, read, given)                             \
    static void publish_##function(const struct driver_return *returned) \
    {                                                                    \
        const function##_params *p = returned->params;                   \
        struct gputrace_memcpy copy = copy_begin(returned);              \
        if (p->pCopy) {                                                  \
            read;                                                        \
        }                                                                \
        given;                                                           \
        registry_memcpy_publish(&copy);                                  \
    }
#define RECTANGLE                                                        \
    copy_set_extent(&copy, p->pCopy->WidthInBytes, p->pCopy->Height, 1); \
    set_sides(&copy, RECTANGLE_SIDE(p->pCopy, dst), RECTANGLE_SIDE(p->pCopy, src))
#define BOX                                                                            \
    copy_set_extent(&copy, p->pCopy->WidthInBytes, p->pCopy->Height, p->pCopy->Depth); \
    set_sides(&copy, BOX_SIDE(p->pCopy, dst), BOX_SIDE(p->pCopy, src))
#define IN_STREAM copy_set_stream(&copy, returned, p->hStream)

PUBLISH_SHAPE(cuMemcpy2D_v2, RECTANGLE, (void)0)
PUBLISH_SHAPE(cuMemcpy2DAsync_v2, RECTANGLE, IN_STREAM)
PUBLISH_SHAPE(cuMemcpy3D_v2, BOX, (void)0)
PUBLISH_SHAPE(cuMemcpy3DAsync_v2, BOX, IN_STREAM)
PUBLISH_SHAPE(cuMemcpy3DPeer, BOX, (void)0)
PUBLISH_SHAPE(cuMemcpy3DPeerAsync, BOX, IN_STREAM)

static const struct driver_call copy_shape_rows[] = {
    DRIVER_CALL_PTDS(cuMemcpy2D_v2, COPY, publish_cuMemcpy2D_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpy2DUnaligned_v2, COPY, publish_cuMemcpy2D_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpy2DAsync_v2, COPY, publish_cuMemcpy2DAsync_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpy3D_v2, COPY, publish_cuMemcpy3D_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpy3DAsync_v2, COPY, publish_cuMemcpy3DAsync_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpy3DPeer, COPY, publish_cuMemcpy3DPeer, NULL),
    DRIVER_CALL_PTSZ(cuMemcpy3DPeerAsync, COPY, publish_cuMemcpy3DPeerAsync, NULL),
};

const struct driver_calls copy_shape_calls = DRIVER_CALLS(copy_shape_rows);

/*
 * Copies by the batch: what they copy stands in arrays of the program.
 *
 * How much of a failed batch the driver had read is not known: it is published once, as a copy of nothing,
 * and its arrays are not looked at.
 */

static void publish_broken_batch(const struct driver_return *returned, size_t count, CUstream stream)
{
    struct gputrace_memcpy copy = copy_begin(returned);
    copy.count = (uint32_t)count;
    copy_set_stream(&copy, returned, stream);
    registry_memcpy_publish(&copy);
}

static void publish_batch(const struct driver_return *returned, const CUdeviceptr *targets, const CUdeviceptr *sources,
                          const size_t *sizes, size_t count, CUstream stream)
{
    if (!driver_call_done(returned)) {
        publish_broken_batch(returned, count, stream);
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
 * call does not have. Then the pointer's pitch is left out, and an element counts as one byte, the least. */
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

static void publish_box_batch(const struct driver_return *returned, const CUDA_MEMCPY3D_BATCH_OP *operations,
                              size_t count, CUstream stream)
{
    if (!driver_call_done(returned)) {
        publish_broken_batch(returned, count, stream);
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

#define PUBLISH_BATCH(function)                                                    \
    static void publish_##function(const struct driver_return *returned)           \
    {                                                                              \
        const function##_params *p = returned->params;                             \
        publish_batch(returned, p->dsts, p->srcs, p->sizes, p->count, p->hStream); \
    }
#define PUBLISH_BOX_BATCH(function)                                      \
    static void publish_##function(const struct driver_return *returned) \
    {                                                                    \
        const function##_params *p = returned->params;                   \
        publish_box_batch(returned, p->opList, p->numOps, p->hStream);   \
    }

PUBLISH_BATCH(cuMemcpyBatchAsync)
PUBLISH_BATCH(cuMemcpyBatchAsync_v2)
PUBLISH_BOX_BATCH(cuMemcpy3DBatchAsync)
PUBLISH_BOX_BATCH(cuMemcpy3DBatchAsync_v2)

static const struct driver_call copy_batch_rows[] = {
    DRIVER_CALL_PTSZ(cuMemcpyBatchAsync, COPY, publish_cuMemcpyBatchAsync, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyBatchAsync_v2, COPY, publish_cuMemcpyBatchAsync_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpy3DBatchAsync, COPY, publish_cuMemcpy3DBatchAsync, NULL),
    DRIVER_CALL_PTSZ(cuMemcpy3DBatchAsync_v2, COPY, publish_cuMemcpy3DBatchAsync_v2, NULL),
};

const struct driver_calls copy_batch_calls = DRIVER_CALLS(copy_batch_rows);

/* --- calls set --- */

/* Memory set to a value: rows and rectangles, of 1, 2 or 4 bytes a value. */

static struct gputrace_memset set_begin(const struct driver_return *returned, uint64_t address, uint32_t value,
                                        uint32_t value_bytes)
{
    return (struct gputrace_memset){
        .call = returned->call,
        .address = address,
        .per_thread = returned->row->per_thread,
        .value = value,
        .value_bytes = value_bytes,
    };
}

/* WIDTH in values. */
static void set_extent(struct gputrace_memset *set, uint64_t width, uint64_t height, uint64_t pitch)
{
    set->width = width * set->value_bytes;
    set->height = height;
    set->pitch = height > 1 ? pitch : 0;
    set->bytes = set->width * height;
}

static void set_stream(struct gputrace_memset *set, const struct driver_return *returned, CUstream stream)
{
    set->stream = driver_call_stream(returned, stream);
    set->stream_given = 1;
}

#define PUBLISH_SET(function, value, value_bytes, width, height, pitch, given)              \
    static void publish_##function(const struct driver_return *returned)                    \
    {                                                                                       \
        const function##_params *p = returned->params;                                      \
        struct gputrace_memset set = set_begin(returned, p->dstDevice, value, value_bytes); \
        set_extent(&set, width, height, pitch);                                             \
        given;                                                                              \
        registry_memset_publish(&set);                                                      \
    }
#define SET_ROW(function, value, bytes) PUBLISH_SET(function, value, bytes, p->N, 1, 0, (void)0)
#define SET_ROW_ASYNC(function, value, bytes) \
    PUBLISH_SET(function, value, bytes, p->N, 1, 0, set_stream(&set, returned, p->hStream))
#define SET_RECTANGLE(function, value, bytes) \
    PUBLISH_SET(function, value, bytes, p->Width, p->Height, p->dstPitch, (void)0)
#define SET_RECTANGLE_ASYNC(function, value, bytes) \
    PUBLISH_SET(function, value, bytes, p->Width, p->Height, p->dstPitch, set_stream(&set, returned, p->hStream))

SET_ROW(cuMemsetD8_v2, p->uc, 1)
SET_ROW(cuMemsetD16_v2, p->us, 2)
SET_ROW(cuMemsetD32_v2, p->ui, 4)
SET_ROW_ASYNC(cuMemsetD8Async, p->uc, 1)
SET_ROW_ASYNC(cuMemsetD16Async, p->us, 2)
SET_ROW_ASYNC(cuMemsetD32Async, p->ui, 4)
SET_RECTANGLE(cuMemsetD2D8_v2, p->uc, 1)
SET_RECTANGLE(cuMemsetD2D16_v2, p->us, 2)
SET_RECTANGLE(cuMemsetD2D32_v2, p->ui, 4)
SET_RECTANGLE_ASYNC(cuMemsetD2D8Async, p->uc, 1)
SET_RECTANGLE_ASYNC(cuMemsetD2D16Async, p->us, 2)
SET_RECTANGLE_ASYNC(cuMemsetD2D32Async, p->ui, 4)

#define SET REGISTRY_BIT(memset)

static const struct driver_call set_rows[] = {
    DRIVER_CALL_PTDS(cuMemsetD8_v2, SET, publish_cuMemsetD8_v2, NULL),
    DRIVER_CALL_PTDS(cuMemsetD16_v2, SET, publish_cuMemsetD16_v2, NULL),
    DRIVER_CALL_PTDS(cuMemsetD32_v2, SET, publish_cuMemsetD32_v2, NULL),
    DRIVER_CALL_PTDS(cuMemsetD2D8_v2, SET, publish_cuMemsetD2D8_v2, NULL),
    DRIVER_CALL_PTDS(cuMemsetD2D16_v2, SET, publish_cuMemsetD2D16_v2, NULL),
    DRIVER_CALL_PTDS(cuMemsetD2D32_v2, SET, publish_cuMemsetD2D32_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemsetD8Async, SET, publish_cuMemsetD8Async, NULL),
    DRIVER_CALL_PTSZ(cuMemsetD16Async, SET, publish_cuMemsetD16Async, NULL),
    DRIVER_CALL_PTSZ(cuMemsetD32Async, SET, publish_cuMemsetD32Async, NULL),
    DRIVER_CALL_PTSZ(cuMemsetD2D8Async, SET, publish_cuMemsetD2D8Async, NULL),
    DRIVER_CALL_PTSZ(cuMemsetD2D16Async, SET, publish_cuMemsetD2D16Async, NULL),
    DRIVER_CALL_PTSZ(cuMemsetD2D32Async, SET, publish_cuMemsetD2D32Async, NULL),
};

const struct driver_calls set_calls = DRIVER_CALLS(set_rows);
