#include "tests/agent/cupti/hearing.h"

static const CUstream stream = (CUstream)0x52;

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

#define SYNC(function, per_thread, size, rectangle, ...)                       \
    do {                                                                       \
        function##_params p = {.dstDevice = 0x1000, __VA_ARGS__};              \
        check(HEAR(memset, function, &p, 0), size, rectangle, per_thread);     \
        check_no_stream(HEAR(memset, function, &p, CUDA_ERROR_INVALID_VALUE)); \
    } while (0)
#define ASYNC(function, per_thread, size, rectangle, ...)                            \
    do {                                                                             \
        function##_params p = {.dstDevice = 0x1000, .hStream = stream, __VA_ARGS__}; \
        check(HEAR(memset, function, &p, 0), size, rectangle, per_thread);           \
        check_stream(HEAR(memset, function, &p, CUDA_ERROR_INVALID_VALUE), stream);  \
        p.hStream = NULL;                                                            \
        check_stream(HEAR(memset, function, &p, 0), default_stream(per_thread));     \
    } while (0)
#define ROWS(size, bits, field)                                                 \
    SYNC(cuMemsetD##bits##_v2, false, size, false, .field = 0x5a, .N = 10);     \
    SYNC(cuMemsetD##bits##_v2_ptds, true, size, false, .field = 0x5a, .N = 10); \
    ASYNC(cuMemsetD##bits##Async, false, size, false, .field = 0x5a, .N = 10);  \
    ASYNC(cuMemsetD##bits##Async_ptsz, true, size, false, .field = 0x5a, .N = 10)
#define SHAPE(field) .field = 0x5a, .dstPitch = 512, .Width = 10, .Height = 4
#define RECTANGLES(size, bits, field)                                  \
    SYNC(cuMemsetD2D##bits##_v2, false, size, true, SHAPE(field));     \
    SYNC(cuMemsetD2D##bits##_v2_ptds, true, size, true, SHAPE(field)); \
    ASYNC(cuMemsetD2D##bits##Async, false, size, true, SHAPE(field));  \
    ASYNC(cuMemsetD2D##bits##Async_ptsz, true, size, true, SHAPE(field))

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
