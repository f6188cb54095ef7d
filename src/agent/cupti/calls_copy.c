/* The driver's functions that copy and set memory. First come helpers for the many functions that copy. */
#include "agent/cupti/driver_calls.h"

/* Returns the event of one copy in the default stream; the caller fills in places and extent. */
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

/* WIDTH is in bytes, HEIGHT in rows, DEPTH in slices. */
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

/* --- copies of one row: cuMemcpyHtoD and similar functions --- */

/* Initialises a struct gputrace_place from side `src` or `dst` of `p`, the parameters. The suffix is the side's letter,
 * U for '?'. A is an array, used from byte Offset on; the others are linear memory. */
#define PLACE_H(side) .address = driver_call_integer(p->side##Host)
#define PLACE_D(side) .address = p->side##Device
#define PLACE_A(side) .address = driver_call_integer(p->side##Array), .array = 1, .x = (uint32_t)p->side##Offset
#define PLACE_U(side) .address = p->side
enum { LETTER_H = 'H', LETTER_D = 'D', LETTER_A = 'A', LETTER_U = '?' };

#define IN_STREAM copy_set_stream(&copy, returned, p->hStream)

/*    function, target, source */
#define ROW_COPIES(SYNC, ASYNC)       \
    SYNC(cuMemcpyHtoD_v2, D, H)       \
    SYNC(cuMemcpyDtoH_v2, H, D)       \
    SYNC(cuMemcpyDtoD_v2, D, D)       \
    SYNC(cuMemcpyDtoA_v2, A, D)       \
    SYNC(cuMemcpyAtoD_v2, D, A)       \
    SYNC(cuMemcpyHtoA_v2, A, H)       \
    SYNC(cuMemcpyAtoH_v2, H, A)       \
    SYNC(cuMemcpyAtoA_v2, A, A)       \
    SYNC(cuMemcpy, U, U)              \
    SYNC(cuMemcpyPeer, D, D)          \
    ASYNC(cuMemcpyHtoDAsync_v2, D, H) \
    ASYNC(cuMemcpyDtoHAsync_v2, H, D) \
    ASYNC(cuMemcpyDtoDAsync_v2, D, D) \
    ASYNC(cuMemcpyHtoAAsync_v2, A, H) \
    ASYNC(cuMemcpyAtoHAsync_v2, H, A) \
    ASYNC(cuMemcpyAsync, U, U)        \
    ASYNC(cuMemcpyPeerAsync, D, D)

#define PUBLISH_ROW(function, to, from, given)                           \
    static void publish_##function(const struct driver_return *returned) \
    {                                                                    \
        const function##_params *p = returned->params;                   \
        struct gputrace_memcpy copy = copy_begin(returned);              \
        copy.target = (struct gputrace_place){PLACE_##to(dst)};          \
        copy.target_side = LETTER_##to;                                  \
        copy.source = (struct gputrace_place){PLACE_##from(src)};        \
        copy.source_side = LETTER_##from;                                \
        copy_set_extent(&copy, p->ByteCount, 1, 1);                      \
        given;                                                           \
        registry_memcpy_publish(&copy);                                  \
    }
#define PUBLISH_SYNC(function, to, from) PUBLISH_ROW(function, to, from, (void)0)
#define PUBLISH_ASYNC(function, to, from) PUBLISH_ROW(function, to, from, IN_STREAM)
ROW_COPIES(PUBLISH_SYNC, PUBLISH_ASYNC)

/*
 * Copies of rectangles and boxes, which the program describes in a struct that the call points to.
 *
 * Published addresses include the offsets. A struct that is missing (NULL: the call failed) is published as a copy of 0
 * bytes.
 */

/* One side of a copy, with the members of the structs for rectangles and boxes. */
struct side {
    CUmemorytype type;
    uint64_t host, device, array;
    uint64_t pitch, rows;
    uint64_t x, y, z;
};

/* Initialises a struct side from side `src` or `dst` of a rectangle or box. */
#define RECTANGLE_SIDE(copied, which, ...)                                                                      \
    (struct side)                                                                                               \
    {                                                                                                           \
        .type = (copied)->which##MemoryType, .host = driver_call_integer((copied)->which##Host),                \
        .device = (copied)->which##Device, .array = driver_call_integer((copied)->which##Array),                \
        .pitch = (copied)->which##Pitch, .x = (copied)->which##XInBytes, .y = (copied)->which##Y, ##__VA_ARGS__ \
    }
#define BOX_SIDE(copied, which) RECTANGLE_SIDE(copied, which, .z = (copied)->which##Z, .rows = (copied)->which##Height)

/* Returns the place of a side in linear memory. HEIGHT and DEPTH of the copy show whether pitch and rows are used at
 * all. */
static struct gputrace_place linear_place(const struct side *side, uint64_t base, uint64_t height, uint64_t depth)
{
    return (struct gputrace_place){
        .address = base + (side->z * side->rows + side->y) * side->pitch + side->x,
        .pitch = height > 1 || depth > 1 ? side->pitch : 0,
        .rows = depth > 1 ? side->rows : 0,
    };
}

/* Fills in *PLACE and returns the side's letter in struct gputrace_memcpy. */
static char read_side(const struct side *side, uint64_t height, uint64_t depth, struct gputrace_place *place)
{
    switch (side->type) {
    case CU_MEMORYTYPE_ARRAY:
        *place = (struct gputrace_place){
            .address = side->array, .array = 1, .x = (uint32_t)side->x, .y = (uint32_t)side->y, .z = (uint32_t)side->z};
        return 'A';
    case CU_MEMORYTYPE_HOST: *place = linear_place(side, side->host, height, depth); return 'H';
    case CU_MEMORYTYPE_DEVICE: *place = linear_place(side, side->device, height, depth); return 'D';
    default: *place = linear_place(side, side->device, height, depth); return '?'; /* unified address */
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

PUBLISH_SHAPE(cuMemcpy2D_v2, RECTANGLE, (void)0)
PUBLISH_SHAPE(cuMemcpy2DAsync_v2, RECTANGLE, IN_STREAM)
PUBLISH_SHAPE(cuMemcpy3D_v2, BOX, (void)0)
PUBLISH_SHAPE(cuMemcpy3DAsync_v2, BOX, IN_STREAM)
PUBLISH_SHAPE(cuMemcpy3DPeer, BOX, (void)0)
PUBLISH_SHAPE(cuMemcpy3DPeerAsync, BOX, IN_STREAM)

/*
 * Batches of copies, which the program describes in arrays.
 *
 * It is unknown how many copies of a failed batch the driver has read: a failed batch is published once, as a copy of 0
 * bytes, and its arrays are not read.
 */

static struct gputrace_memcpy batch_begin(const struct driver_return *returned, size_t count, CUstream stream)
{
    struct gputrace_memcpy copy = copy_begin(returned);
    copy.count = (uint32_t)count;
    copy_set_stream(&copy, returned, stream);
    if (!driver_call_done(returned))
        registry_memcpy_publish(&copy);
    return copy;
}

static void publish_batch(const struct driver_return *returned, const CUdeviceptr *targets, const CUdeviceptr *sources,
                          const size_t *sizes, size_t count, CUstream stream)
{
    struct gputrace_memcpy copy = batch_begin(returned, count, stream);
    for (size_t i = 0; driver_call_done(returned) && i < count; i++) {
        copy.index = (uint32_t)i;
        copy.target.address = targets[i];
        copy.source.address = sources[i];
        copy_set_extent(&copy, sizes[i], 1, 1);
        registry_memcpy_publish(&copy);
    }
}

/* Fills in *PLACE and returns the side's letter. Rows and layers are counted in elements. Between two pointers (BYTES)
 * an element is a byte. Beside an array, the element size is the array's and unknown here: then the pitch is left out,
 * and an element counts as one byte. */
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
    struct gputrace_memcpy copy = batch_begin(returned, count, stream);
    for (size_t i = 0; driver_call_done(returned) && i < count; i++) {
        const CUDA_MEMCPY3D_BATCH_OP *one = &operations[i];
        bool bytes = one->src.type != CU_MEMCPY_OPERAND_TYPE_ARRAY && one->dst.type != CU_MEMCPY_OPERAND_TYPE_ARRAY;
        copy.index = (uint32_t)i;
        copy_set_extent(&copy, one->extent.width, one->extent.height, one->extent.depth);
        copy.target_side = read_operand(&one->dst, bytes, &one->extent, &copy.target);
        copy.source_side = read_operand(&one->src, bytes, &one->extent, &copy.source);
        registry_memcpy_publish(&copy);
    }
}

#define PUBLISH_BATCH(function, publisher, ...)                          \
    static void publish_##function(const struct driver_return *returned) \
    {                                                                    \
        const function##_params *p = returned->params;                   \
        publisher(returned, __VA_ARGS__, p->hStream);                    \
    }
PUBLISH_BATCH(cuMemcpyBatchAsync, publish_batch, p->dsts, p->srcs, p->sizes, p->count)
PUBLISH_BATCH(cuMemcpyBatchAsync_v2, publish_batch, p->dsts, p->srcs, p->sizes, p->count)
PUBLISH_BATCH(cuMemcpy3DBatchAsync, publish_box_batch, p->opList, p->numOps)
PUBLISH_BATCH(cuMemcpy3DBatchAsync_v2, publish_box_batch, p->opList, p->numOps)

/* --- memory set to a value: rows and rectangles, of 1, 2 or 4 bytes a value --- */

/* Rows: the function, the parameter with the value, and the bytes of a value. */
#define SETS(ROW, ROW_ASYNC, RECTANGLE, RECTANGLE_ASYNC) \
    ROW(cuMemsetD8_v2, uc, 1)                            \
    ROW(cuMemsetD16_v2, us, 2)                           \
    ROW(cuMemsetD32_v2, ui, 4)                           \
    ROW_ASYNC(cuMemsetD8Async, uc, 1)                    \
    ROW_ASYNC(cuMemsetD16Async, us, 2)                   \
    ROW_ASYNC(cuMemsetD32Async, ui, 4)                   \
    RECTANGLE(cuMemsetD2D8_v2, uc, 1)                    \
    RECTANGLE(cuMemsetD2D16_v2, us, 2)                   \
    RECTANGLE(cuMemsetD2D32_v2, ui, 4)                   \
    RECTANGLE_ASYNC(cuMemsetD2D8Async, uc, 1)            \
    RECTANGLE_ASYNC(cuMemsetD2D16Async, us, 2)           \
    RECTANGLE_ASYNC(cuMemsetD2D32Async, ui, 4)

/* Defines the publisher of a function. COLUMNS counts values of SIZE bytes each; the last arguments are further members
 * of the event. */
#define PUBLISH_SET(function, of_value, size, columns, rows, row_pitch, ...)                              \
    static void publish_##function(const struct driver_return *returned)                                  \
    {                                                                                                     \
        const function##_params *p = returned->params;                                                    \
        registry_memset_publish(&(struct gputrace_memset){.call = returned->call,                         \
                                                          .address = p->dstDevice,                        \
                                                          .per_thread = returned->row->per_thread,        \
                                                          .value = p->of_value,                           \
                                                          .value_bytes = (size),                          \
                                                          .width = (uint64_t)(columns) * (size),          \
                                                          .height = (rows),                               \
                                                          .pitch = (rows) > 1 ? (row_pitch) : 0,          \
                                                          .bytes = (uint64_t)(columns) * (size) * (rows), \
                                                          ##__VA_ARGS__});                                \
    }
#define SET_IN_STREAM .stream = driver_call_stream(returned, p->hStream), .stream_given = 1
#define SET_ROW(function, value, bytes) PUBLISH_SET(function, value, bytes, p->N, 1, 0)
#define SET_ROW_ASYNC(function, value, bytes) PUBLISH_SET(function, value, bytes, p->N, 1, 0, SET_IN_STREAM)
#define SET_RECTANGLE(function, value, bytes) PUBLISH_SET(function, value, bytes, p->Width, p->Height, p->dstPitch)
#define SET_RECTANGLE_ASYNC(function, value, bytes) \
    PUBLISH_SET(function, value, bytes, p->Width, p->Height, p->dstPitch, SET_IN_STREAM)
SETS(SET_ROW, SET_ROW_ASYNC, SET_RECTANGLE, SET_RECTANGLE_ASYNC)

#define COPY REGISTRY_BIT(memcpy)
#define SET REGISTRY_BIT(memset)
#define SYNC_COPY(function, ...) DRIVER_CALL_PTDS(function, COPY, publish_##function),
#define ASYNC_COPY(function, ...) DRIVER_CALL_PTSZ(function, COPY, publish_##function),
#define SYNC_SET(function, ...) DRIVER_CALL_PTDS(function, SET, publish_##function),
#define ASYNC_SET(function, ...) DRIVER_CALL_PTSZ(function, SET, publish_##function),

static const struct driver_call rows[] = {
    ROW_COPIES(SYNC_COPY, ASYNC_COPY) DRIVER_CALL_PTDS(cuMemcpy2D_v2, COPY, publish_cuMemcpy2D_v2),
    DRIVER_CALL_PTDS(cuMemcpy2DUnaligned_v2, COPY, publish_cuMemcpy2D_v2),
    DRIVER_CALL_PTSZ(cuMemcpy2DAsync_v2, COPY, publish_cuMemcpy2DAsync_v2),
    DRIVER_CALL_PTDS(cuMemcpy3D_v2, COPY, publish_cuMemcpy3D_v2),
    DRIVER_CALL_PTSZ(cuMemcpy3DAsync_v2, COPY, publish_cuMemcpy3DAsync_v2),
    DRIVER_CALL_PTDS(cuMemcpy3DPeer, COPY, publish_cuMemcpy3DPeer),
    DRIVER_CALL_PTSZ(cuMemcpy3DPeerAsync, COPY, publish_cuMemcpy3DPeerAsync),
    DRIVER_CALL_PTSZ(cuMemcpyBatchAsync, COPY, publish_cuMemcpyBatchAsync),
    DRIVER_CALL_PTSZ(cuMemcpyBatchAsync_v2, COPY, publish_cuMemcpyBatchAsync_v2),
    DRIVER_CALL_PTSZ(cuMemcpy3DBatchAsync, COPY, publish_cuMemcpy3DBatchAsync),
    DRIVER_CALL_PTSZ(cuMemcpy3DBatchAsync_v2, COPY, publish_cuMemcpy3DBatchAsync_v2),
    SETS(SYNC_SET, ASYNC_SET, SYNC_SET, ASYNC_SET)};

const struct driver_calls copy_calls = DRIVER_CALLS(rows);
