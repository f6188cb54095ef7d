#include "tests/agent/cupti/hearing.h"

static const CUstream stream = (CUstream)0x52;
#define HOST ((void *)0x9000)
#define DEVICE 0x1000
#define OTHER 0x2000
#define ARRAY ((CUarray)0x10)

struct expected {
    char target_side, source_side;
    uint64_t target, source;
    unsigned target_x, source_x; /* of arrays */
};

static void check_row(const struct gputrace_memcpy *copy, struct expected expected, bool per_thread, bool in_stream)
{
    assert_int_equal(copy->target_side, expected.target_side);
    assert_int_equal(copy->source_side, expected.source_side);
    assert_int_equal(copy->target.address, expected.target);
    assert_int_equal(copy->source.address, expected.source);
    assert_int_equal(copy->target.array, expected.target_side == 'A');
    assert_int_equal(copy->source.array, expected.source_side == 'A');
    assert_int_equal(copy->target.x, expected.target_x);
    assert_int_equal(copy->source.x, expected.source_x);
    assert_int_equal(copy->bytes, 100);
    assert_int_equal(copy->width, 100);
    assert_int_equal(copy->height, 1);
    assert_int_equal(copy->depth, 1);
    assert_int_equal(copy->per_thread, per_thread);
    assert_int_equal(copy->stream_given, in_stream);
    assert_ptr_equal(copy->stream, in_stream ? stream : NULL);
    assert_int_equal(copy->index, 0);
    assert_int_equal(copy->count, 1);
    assert_int_equal(copy->target.pitch, 0);
}

/* The copies of rows: each with its sides, done and failed. */
#define ROW(function, per_thread, expected_sides, ...)                                                \
    do {                                                                                              \
        function##_params p = {__VA_ARGS__, .ByteCount = 100};                                        \
        struct expected expected = expected_sides;                                                    \
        check_row(HEAR(memcpy, function, &p, 0), expected, per_thread, false);                        \
        check_row(HEAR(memcpy, function, &p, CUDA_ERROR_INVALID_VALUE), expected, per_thread, false); \
    } while (0)
#define ROW_ASYNC(function, per_thread, expected_sides, ...)                                         \
    do {                                                                                             \
        function##_params p = {__VA_ARGS__, .ByteCount = 100, .hStream = stream};                    \
        struct expected expected = expected_sides;                                                   \
        check_row(HEAR(memcpy, function, &p, 0), expected, per_thread, true);                        \
        check_row(HEAR(memcpy, function, &p, CUDA_ERROR_INVALID_VALUE), expected, per_thread, true); \
        p.hStream = NULL;                                                                            \
        assert_ptr_equal(HEAR(memcpy, function, &p, 0)->stream, default_stream(per_thread));         \
    } while (0)
#define SYNC(function, sides, ...)                  \
    ROW(function, false, SIDES sides, __VA_ARGS__); \
    ROW(function##_ptds, true, SIDES sides, __VA_ARGS__)
#define ASYNC(function, sides, ...)                       \
    ROW_ASYNC(function, false, SIDES sides, __VA_ARGS__); \
    ROW_ASYNC(function##_ptsz, true, SIDES sides, __VA_ARGS__)
#define SIDES(...) {__VA_ARGS__}

UNIT_TEST(rows_tell_their_sides)
{
    SYNC(cuMemcpyHtoD_v2, ('D', 'H', DEVICE, 0x9000, 0, 0), .dstDevice = DEVICE, .srcHost = HOST);
    SYNC(cuMemcpyDtoH_v2, ('H', 'D', 0x9000, DEVICE, 0, 0), .dstHost = HOST, .srcDevice = DEVICE);
    SYNC(cuMemcpyDtoD_v2, ('D', 'D', DEVICE, OTHER, 0, 0), .dstDevice = DEVICE, .srcDevice = OTHER);
    SYNC(cuMemcpyDtoA_v2, ('A', 'D', 0x10, DEVICE, 8, 0), .dstArray = ARRAY, .dstOffset = 8, .srcDevice = DEVICE);
    SYNC(cuMemcpyAtoD_v2, ('D', 'A', DEVICE, 0x10, 0, 8), .dstDevice = DEVICE, .srcArray = ARRAY, .srcOffset = 8);
    SYNC(cuMemcpyHtoA_v2, ('A', 'H', 0x10, 0x9000, 8, 0), .dstArray = ARRAY, .dstOffset = 8, .srcHost = HOST);
    SYNC(cuMemcpyAtoH_v2, ('H', 'A', 0x9000, 0x10, 0, 8), .dstHost = HOST, .srcArray = ARRAY, .srcOffset = 8);
    SYNC(cuMemcpyAtoA_v2, ('A', 'A', 0x10, 0x10, 4, 8), .dstArray = ARRAY, .dstOffset = 4, .srcArray = ARRAY,
         .srcOffset = 8);
    SYNC(cuMemcpy, ('?', '?', DEVICE, OTHER, 0, 0), .dst = DEVICE, .src = OTHER);
    SYNC(cuMemcpyPeer, ('D', 'D', DEVICE, OTHER, 0, 0), .dstDevice = DEVICE, .srcDevice = OTHER);
    hearing_clear();
}

UNIT_TEST(rows_in_streams_tell_their_stream)
{
    ASYNC(cuMemcpyHtoDAsync_v2, ('D', 'H', DEVICE, 0x9000, 0, 0), .dstDevice = DEVICE, .srcHost = HOST);
    ASYNC(cuMemcpyDtoHAsync_v2, ('H', 'D', 0x9000, DEVICE, 0, 0), .dstHost = HOST, .srcDevice = DEVICE);
    ASYNC(cuMemcpyDtoDAsync_v2, ('D', 'D', DEVICE, OTHER, 0, 0), .dstDevice = DEVICE, .srcDevice = OTHER);
    ASYNC(cuMemcpyHtoAAsync_v2, ('A', 'H', 0x10, 0x9000, 8, 0), .dstArray = ARRAY, .dstOffset = 8, .srcHost = HOST);
    ASYNC(cuMemcpyAtoHAsync_v2, ('H', 'A', 0x9000, 0x10, 0, 8), .dstHost = HOST, .srcArray = ARRAY, .srcOffset = 8);
    ASYNC(cuMemcpyAsync, ('?', '?', DEVICE, OTHER, 0, 0), .dst = DEVICE, .src = OTHER);
    ASYNC(cuMemcpyPeerAsync, ('D', 'D', DEVICE, OTHER, 0, 0), .dstDevice = DEVICE, .srcDevice = OTHER);
}

/* --- rectangles and boxes --- */

static void check_rectangle(const struct gputrace_memcpy *copy)
{
    assert_int_equal(copy->source_side, 'H');
    assert_int_equal(copy->source.address, 0x9000 + 3 * 512 + 16);
    assert_int_equal(copy->source.pitch, 512);
    assert_int_equal(copy->source.rows, 0);
    assert_int_equal(copy->target_side, 'A');
    assert_int_equal(copy->target.address, 0x10);
    assert_int_equal(copy->target.array, 1);
    assert_int_equal(copy->target.x, 4);
    assert_int_equal(copy->target.y, 5);
    assert_int_equal(copy->width, 100);
    assert_int_equal(copy->height, 7);
    assert_int_equal(copy->depth, 1);
    assert_int_equal(copy->bytes, 700);
}

static CUDA_MEMCPY2D rectangle(void)
{
    return (CUDA_MEMCPY2D){
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = HOST,
        .srcPitch = 512,
        .srcXInBytes = 16,
        .srcY = 3,
        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
        .dstArray = ARRAY,
        .dstXInBytes = 4,
        .dstY = 5,
        .WidthInBytes = 100,
        .Height = 7,
    };
}

#define SHAPE(function, own_stream, shape, check)                           \
    do {                                                                    \
        function##_params p = {.pCopy = (shape)};                           \
        const struct gputrace_memcpy *copy = HEAR(memcpy, function, &p, 0); \
        check(copy);                                                        \
        assert_int_equal(copy->per_thread, own_stream);                     \
        check(HEAR(memcpy, function, &p, CUDA_ERROR_INVALID_VALUE));        \
        p.pCopy = NULL;                                                     \
        copy = HEAR(memcpy, function, &p, CUDA_ERROR_INVALID_VALUE);        \
        assert_int_equal(copy->bytes, 0);                                   \
        assert_int_equal(copy->target_side, '?');                           \
    } while (0)

UNIT_TEST(rectangles_add_their_offsets)
{
    CUDA_MEMCPY2D shape = rectangle();
#define CHECK(function, per_thread) SHAPE(function, per_thread, &shape, check_rectangle)
    PLAIN_AND_PTDS(CHECK, cuMemcpy2D_v2);
    PLAIN_AND_PTDS(CHECK, cuMemcpy2DUnaligned_v2);
    PLAIN_AND_PTSZ(CHECK, cuMemcpy2DAsync_v2);
#undef CHECK
    cuMemcpy2DAsync_v2_params p = {&shape, stream};
    assert_ptr_equal(HEAR(memcpy, cuMemcpy2DAsync_v2, &p, 0)->stream, stream);
    shape.Height = 1; /* a row has no next one */
    assert_int_equal(HEAR(memcpy, cuMemcpy2DAsync_v2, &p, 0)->source.pitch, 0);
    shape.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    shape.srcDevice = DEVICE;
    const struct gputrace_memcpy *copy = HEAR(memcpy, cuMemcpy2DAsync_v2, &p, 0);
    assert_int_equal(copy->source_side, '?');
    assert_int_equal(copy->source.address, DEVICE + 3 * 512 + 16);
}

static void check_box(const struct gputrace_memcpy *copy)
{
    assert_int_equal(copy->target_side, 'D');
    assert_int_equal(copy->target.address, DEVICE + (2 * 20 + 3) * 256 + 8);
    assert_int_equal(copy->target.pitch, 256);
    assert_int_equal(copy->target.rows, 20);
    assert_int_equal(copy->source_side, 'A');
    assert_int_equal(copy->source.z, 6);
    assert_int_equal(copy->source.y, 5);
    assert_int_equal(copy->source.x, 4);
    assert_int_equal(copy->bytes, 10 * 11 * 12);
    assert_int_equal(copy->depth, 12);
}

/* The structs of boxes within a context and between two have the same fields. */
#define BOX                                    \
    {                                          \
        .dstMemoryType = CU_MEMORYTYPE_DEVICE, \
        .dstDevice = DEVICE,                   \
        .dstPitch = 256,                       \
        .dstHeight = 20,                       \
        .dstXInBytes = 8,                      \
        .dstY = 3,                             \
        .dstZ = 2,                             \
        .srcMemoryType = CU_MEMORYTYPE_ARRAY,  \
        .srcArray = ARRAY,                     \
        .srcXInBytes = 4,                      \
        .srcY = 5,                             \
        .srcZ = 6,                             \
        .WidthInBytes = 10,                    \
        .Height = 11,                          \
        .Depth = 12,                           \
    }

UNIT_TEST(boxes_add_their_offsets)
{
    CUDA_MEMCPY3D shape = BOX;
    CUDA_MEMCPY3D_PEER between = BOX;
#define CHECK(function, per_thread) SHAPE(function, per_thread, &shape, check_box)
    PLAIN_AND_PTDS(CHECK, cuMemcpy3D_v2);
    PLAIN_AND_PTSZ(CHECK, cuMemcpy3DAsync_v2);
#undef CHECK
#define CHECK(function, per_thread) SHAPE(function, per_thread, &between, check_box)
    PLAIN_AND_PTDS(CHECK, cuMemcpy3DPeer);
    PLAIN_AND_PTSZ(CHECK, cuMemcpy3DPeerAsync);
#undef CHECK
    cuMemcpy3DPeerAsync_params p = {&between, stream};
    assert_ptr_equal(HEAR(memcpy, cuMemcpy3DPeerAsync, &p, 0)->stream, stream);
}

/* --- batches --- */

static const struct gputrace_memcpy *copy_at(unsigned index)
{
    return heard_what(REGISTRY_memcpy, index);
}

static void check_broken_batch(unsigned count)
{
    assert_int_equal(heard_in_all(), 1);
    assert_int_equal(copy_at(0)->count, count);
    assert_int_equal(copy_at(0)->bytes, 0);
    assert_true(copy_at(0)->call.result != 0);
}

UNIT_TEST(batches_are_as_many_copies)
{
    CUdeviceptr targets[] = {0x100, 0x200, 0x300}, sources[] = {0x400, 0x500, 0x600};
    size_t sizes[] = {1, 2, 3};
#define CHECK(function, is_per_thread)                                                                         \
    do {                                                                                                       \
        function##_params p = {.dsts = targets, .srcs = sources, .sizes = sizes, .count = 3, .hStream = NULL}; \
        make_call(CUPTI_DRIVER_TRACE_CBID_##function, &p, 0);                                                  \
        assert_int_equal(heard_in_all(), 3);                                                                   \
        for (unsigned i = 0; i < 3; i++) {                                                                     \
            assert_int_equal(copy_at(i)->index, i);                                                            \
            assert_int_equal(copy_at(i)->count, 3);                                                            \
            assert_int_equal(copy_at(i)->target.address, targets[i]);                                          \
            assert_int_equal(copy_at(i)->source.address, sources[i]);                                          \
            assert_int_equal(copy_at(i)->bytes, sizes[i]);                                                     \
            assert_ptr_equal(copy_at(i)->stream, default_stream(is_per_thread));                               \
            assert_int_equal(copy_at(i)->per_thread, is_per_thread);                                           \
        }                                                                                                      \
        p.dsts = p.srcs = NULL;                                                                                \
        make_call(CUPTI_DRIVER_TRACE_CBID_##function, &p, CUDA_ERROR_INVALID_VALUE);                           \
        check_broken_batch(3);                                                                                 \
    } while (0)
    PLAIN_AND_PTSZ(CHECK, cuMemcpyBatchAsync);
    PLAIN_AND_PTSZ(CHECK, cuMemcpyBatchAsync_v2);
#undef CHECK
}

UNIT_TEST(batches_of_boxes_are_as_many_copies)
{
    CUDA_MEMCPY3D_BATCH_OP boxes[2] = {
        {.src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = 0x100, .rowLength = 64, .layerHeight = 9}},
         .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = 0x200}},
         .extent = {10, 4, 2}},
        {.src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = 0x300, .rowLength = 64}},
         .dst = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY, .op.array = {ARRAY, {1, 2, 3}}},
         .extent = {5, 6, 1}},
    };
#define CHECK(function, is_per_thread)                                                      \
    do {                                                                                    \
        function##_params p = {.numOps = 2, .opList = boxes, .hStream = NULL};              \
        make_call(CUPTI_DRIVER_TRACE_CBID_##function, &p, 0);                               \
        assert_int_equal(heard_in_all(), 2);                                                \
        assert_int_equal(copy_at(0)->bytes, 80);                                            \
        assert_int_equal(copy_at(0)->source.pitch, 64);                                     \
        assert_int_equal(copy_at(0)->source.rows, 9);                                       \
        assert_int_equal(copy_at(0)->target.pitch, 10); /* packed */                        \
        assert_int_equal(copy_at(0)->target.rows, 4);                                       \
        assert_int_equal(copy_at(1)->target_side, 'A');                                     \
        assert_int_equal(copy_at(1)->target.y, 2);                                          \
        assert_int_equal(copy_at(1)->source.pitch, 0); /* in elements of an unknown size */ \
        assert_int_equal(copy_at(1)->index, 1);                                             \
        assert_ptr_equal(copy_at(1)->stream, default_stream(is_per_thread));                \
        p.opList = NULL;                                                                    \
        make_call(CUPTI_DRIVER_TRACE_CBID_##function, &p, CUDA_ERROR_INVALID_VALUE);        \
        check_broken_batch(2);                                                              \
    } while (0)
    PLAIN_AND_PTSZ(CHECK, cuMemcpy3DBatchAsync);
    PLAIN_AND_PTSZ(CHECK, cuMemcpy3DBatchAsync_v2);
#undef CHECK
    hearing_covers(&copy_calls, REGISTRY_BIT(memcpy));
}

/* --- memory set to a value --- */

static void check(const struct gputrace_memset *set, uint32_t value_bytes, bool rectangle, bool per_thread)
{
    assert_int_equal(set->address, 0x1000);
    assert_int_equal(set->value, 0x5a);
    assert_int_equal(set->value_bytes, value_bytes);
    assert_int_equal(set->width, 10 * value_bytes);
    assert_int_equal(set->height, rectangle ? 4 : 1);
    assert_int_equal(set->pitch, rectangle ? 512 : 0);
    assert_int_equal(set->bytes, 10 * value_bytes * (rectangle ? 4 : 1));
    assert_int_equal(set->per_thread, per_thread);
}

static void check_no_stream(const struct gputrace_memset *set)
{
    assert_int_equal(set->stream_given, 0);
    assert_null(set->stream);
}

static void check_stream(const struct gputrace_memset *set, CUstream expected)
{
    assert_int_equal(set->stream_given, 1);
    assert_ptr_equal(set->stream, expected);
}

#define SET_SYNC(function, per_thread, size, rectangle, ...)                   \
    do {                                                                       \
        function##_params p = {.dstDevice = 0x1000, __VA_ARGS__};              \
        check(HEAR(memset, function, &p, 0), size, rectangle, per_thread);     \
        check_no_stream(HEAR(memset, function, &p, CUDA_ERROR_INVALID_VALUE)); \
    } while (0)
#define SET_ASYNC(function, per_thread, size, rectangle, ...)                        \
    do {                                                                             \
        function##_params p = {.dstDevice = 0x1000, .hStream = stream, __VA_ARGS__}; \
        check(HEAR(memset, function, &p, 0), size, rectangle, per_thread);           \
        check_stream(HEAR(memset, function, &p, CUDA_ERROR_INVALID_VALUE), stream);  \
        p.hStream = NULL;                                                            \
        check_stream(HEAR(memset, function, &p, 0), default_stream(per_thread));     \
    } while (0)
#define ROWS(size, bits, field)                                                     \
    SET_SYNC(cuMemsetD##bits##_v2, false, size, false, .field = 0x5a, .N = 10);     \
    SET_SYNC(cuMemsetD##bits##_v2_ptds, true, size, false, .field = 0x5a, .N = 10); \
    SET_ASYNC(cuMemsetD##bits##Async, false, size, false, .field = 0x5a, .N = 10);  \
    SET_ASYNC(cuMemsetD##bits##Async_ptsz, true, size, false, .field = 0x5a, .N = 10)
#define SET_SHAPE(field) .field = 0x5a, .dstPitch = 512, .Width = 10, .Height = 4
#define RECTANGLES(size, bits, field)                                          \
    SET_SYNC(cuMemsetD2D##bits##_v2, false, size, true, SET_SHAPE(field));     \
    SET_SYNC(cuMemsetD2D##bits##_v2_ptds, true, size, true, SET_SHAPE(field)); \
    SET_ASYNC(cuMemsetD2D##bits##Async, false, size, true, SET_SHAPE(field));  \
    SET_ASYNC(cuMemsetD2D##bits##Async_ptsz, true, size, true, SET_SHAPE(field))

UNIT_TEST(rows_tell_value_and_bytes)
{
    ROWS(1, 8, uc);
    ROWS(2, 16, us);
    ROWS(4, 32, ui);
}

UNIT_TEST(rectangles_tell_pitch_and_bytes)
{
    RECTANGLES(1, 8, uc);
    RECTANGLES(2, 16, us);
    RECTANGLES(4, 32, ui);
    hearing_covers(&copy_calls, REGISTRY_BIT(memset));
}

UNIT_MAIN(hearing_start, NULL)
