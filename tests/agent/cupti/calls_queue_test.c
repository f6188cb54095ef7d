#include "tests/agent/cupti/hearing.h"

static const CUstream stream = (CUstream)0x52;

UNIT_TEST(functions_of_the_host_tell_their_stream)
{
#define CHECK(function, per_thread)                                                           \
    do {                                                                                      \
        function##_params p = {.hStream = stream};                                            \
        assert_ptr_equal(HEAR(host_function, function, &p, 0)->stream, stream);               \
        p.hStream = NULL;                                                                     \
        assert_ptr_equal(HEAR(host_function, function, &p, CUDA_ERROR_INVALID_VALUE)->stream, \
                         default_stream(per_thread));                                         \
    } while (0)
    PLAIN_AND_PTSZ(CHECK, cuLaunchHostFunc);
    PLAIN_AND_PTSZ(CHECK, cuStreamAddCallback);
#undef CHECK
}

static void check(const struct gputrace_stream_value *value, CUstream expected, uint32_t waits, uint32_t writes)
{
    assert_ptr_equal(value->stream, expected);
    assert_int_equal(value->waits, waits);
    assert_int_equal(value->writes, writes);
}

#define VALUES(function, per_thread, waits, writes)                                                                   \
    do {                                                                                                              \
        function##_params p = {.stream = stream, .addr = 0x1000};                                                     \
        check(HEAR(stream_value, function, &p, 0), stream, waits, writes);                                            \
        p.stream = NULL;                                                                                              \
        check(HEAR(stream_value, function, &p, CUDA_ERROR_INVALID_VALUE), default_stream(per_thread), waits, writes); \
    } while (0)
#define WAITS(function, per_thread) VALUES(function, per_thread, 1, 0)
#define WRITES(function, per_thread) VALUES(function, per_thread, 0, 1)

UNIT_TEST(values_are_waited_for_or_written)
{
    PLAIN_AND_PTSZ(WAITS, cuStreamWaitValue32);
    PLAIN_AND_PTSZ(WAITS, cuStreamWaitValue64);
    PLAIN_AND_PTSZ(WAITS, cuStreamWaitValue32_v2);
    PLAIN_AND_PTSZ(WAITS, cuStreamWaitValue64_v2);
    PLAIN_AND_PTSZ(WRITES, cuStreamWriteValue32);
    PLAIN_AND_PTSZ(WRITES, cuStreamWriteValue64);
    PLAIN_AND_PTSZ(WRITES, cuStreamWriteValue32_v2);
    PLAIN_AND_PTSZ(WRITES, cuStreamWriteValue64_v2);
}

UNIT_TEST(batches_count_both)
{
    CUstreamBatchMemOpParams each[4] = {{.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32},
                                        {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64},
                                        {.operation = CU_STREAM_MEM_OP_BARRIER},
                                        {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64}};
#define CHECK(function, per_thread)                                                                          \
    do {                                                                                                     \
        function##_params p = {.stream = stream, .count = 4, .paramArray = each};                            \
        check(HEAR(stream_value, function, &p, 0), stream, 2, 1);                                            \
        p.stream = NULL;                                                                                     \
        p.paramArray = NULL;                                                                                 \
        check(HEAR(stream_value, function, &p, CUDA_ERROR_INVALID_VALUE), default_stream(per_thread), 0, 0); \
    } while (0)
    PLAIN_AND_PTSZ(CHECK, cuStreamBatchMemOp);
    PLAIN_AND_PTSZ(CHECK, cuStreamBatchMemOp_v2);
#undef CHECK
}

UNIT_TEST(semaphores_count)
{
#define CHECK_KIND(function, per_thread, waits, writes)                                                               \
    do {                                                                                                              \
        function##_params p = {.numExtSems = 3, .stream = stream};                                                    \
        check(HEAR(stream_value, function, &p, 0), stream, waits, writes);                                            \
        p.stream = NULL;                                                                                              \
        check(HEAR(stream_value, function, &p, CUDA_ERROR_INVALID_VALUE), default_stream(per_thread), waits, writes); \
    } while (0)
#define CHECK(function, per_thread) CHECK_KIND(function, per_thread, 3, 0)
    PLAIN_AND_PTSZ(CHECK, cuWaitExternalSemaphoresAsync);
#undef CHECK
#define CHECK(function, per_thread) CHECK_KIND(function, per_thread, 0, 3)
    PLAIN_AND_PTSZ(CHECK, cuSignalExternalSemaphoresAsync);
#undef CHECK
    hearing_covers(&launch_calls, REGISTRY_BIT(host_function) | REGISTRY_BIT(stream_value));
}

UNIT_MAIN(hearing_start, NULL)
