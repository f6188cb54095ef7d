#include "tests/agent/cupti/hearing.h"

static const CUstream stream = (CUstream)0x52;
#define KERNEL ((CUfunction)0xf1)

/* The shape of all launches here. */
#define SHAPE \
    .gridDimX = 1, .gridDimY = 2, .gridDimZ = 3, .blockDimX = 4, .blockDimY = 5, .blockDimZ = 6, .sharedMemBytes = 7

static void check(const struct gputrace_kernel_launch *launch, CUstream expected, uint32_t cooperative)
{
    assert_int_equal(launch->kernel, 0xf1);
    assert_ptr_equal(launch->stream, expected);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(launch->grid[i], 1 + i);
        assert_int_equal(launch->block[i], 4 + i);
    }
    assert_int_equal(launch->shared_bytes, 7);
    assert_int_equal(launch->cooperative, cooperative);
}

UNIT_TEST(launches_tell_kernel_shape_and_stream)
{
    fake_symbol = "_Z6kernelv";
#define CHECK_KIND(function, per_thread, is_cooperative)                                               \
    do {                                                                                               \
        function##_params p = {.f = KERNEL, SHAPE, .hStream = stream};                                 \
        const struct gputrace_kernel_launch *launch = HEAR(kernel_launch, function, &p, 0);            \
        check(launch, stream, is_cooperative);                                                         \
        assert_string_equal(launch->name, "_Z6kernelv");                                               \
        p.hStream = NULL;                                                                              \
        check(HEAR(kernel_launch, function, &p, CUDA_ERROR_INVALID_VALUE), default_stream(per_thread), \
              is_cooperative);                                                                         \
    } while (0)
#define CHECK(function, per_thread) CHECK_KIND(function, per_thread, 0)
    PLAIN_AND_PTSZ(CHECK, cuLaunchKernel);
#undef CHECK
#define CHECK(function, per_thread) CHECK_KIND(function, per_thread, 1)
    PLAIN_AND_PTSZ(CHECK, cuLaunchCooperativeKernel);
#undef CHECK
}

UNIT_TEST(launches_with_a_configuration_tell_it)
{
    CUlaunchAttribute attributes[2] = {{.id = CU_LAUNCH_ATTRIBUTE_PRIORITY},
                                       {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1}};
#define CHECK(function, per_thread)                                                                        \
    do {                                                                                                   \
        CUlaunchConfig config = {SHAPE, .hStream = stream, .attrs = attributes, .numAttrs = 1};            \
        function##_params p = {.config = &config, .f = KERNEL};                                            \
        check(HEAR(kernel_launch, function, &p, 0), stream, 0);                                            \
        config.numAttrs = 2;                                                                               \
        config.hStream = NULL;                                                                             \
        check(HEAR(kernel_launch, function, &p, 0), default_stream(per_thread), 1);                        \
        config.attrs = NULL; /* what a launch was refused for is not looked at */                          \
        check(HEAR(kernel_launch, function, &p, CUDA_ERROR_INVALID_VALUE), default_stream(per_thread), 0); \
        p.config = NULL;                                                                                   \
        HEAR(kernel_launch, function, &p, CUDA_ERROR_INVALID_VALUE);                                       \
    } while (0)
    PLAIN_AND_PTSZ(CHECK, cuLaunchKernelEx);
#undef CHECK
}

UNIT_TEST(a_launch_on_several_devices_is_several_launches)
{
    CUDA_LAUNCH_PARAMS each[2] = {{.function = KERNEL, SHAPE, .hStream = stream},
                                  {.function = KERNEL, SHAPE, .hStream = (CUstream)0x53}};
    cuLaunchCooperativeKernelMultiDevice_params p = {each, 2, 0};
    make_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice, &p, 0);
    assert_int_equal(heard(REGISTRY_kernel_launch), 2);
    check(heard_what(REGISTRY_kernel_launch, 0), stream, 1);
    check(heard_what(REGISTRY_kernel_launch, 1), (CUstream)0x53, 1);
    p.launchParamsList = NULL;
    HEAR(kernel_launch, cuLaunchCooperativeKernelMultiDevice, &p, CUDA_ERROR_INVALID_VALUE);
}

UNIT_TEST(launches_of_old_tell_their_grid)
{
    cuLaunch_params one = {KERNEL};
    assert_int_equal(HEAR(kernel_launch, cuLaunch, &one, 0)->grid[0], 1);
    cuLaunchGrid_params grid = {KERNEL, 8, 9};
    assert_int_equal(HEAR(kernel_launch, cuLaunchGrid, &grid, 0)->grid[1], 9);
    cuLaunchGridAsync_params async = {KERNEL, 8, 9, stream};
    const struct gputrace_kernel_launch *launch = HEAR(kernel_launch, cuLaunchGridAsync, &async, 0);
    assert_ptr_equal(launch->stream, stream);
    assert_int_equal(launch->grid[0], 8);
    assert_int_equal(launch->grid[2], 1);
    assert_int_equal(HEAR(kernel_launch, cuLaunchGridAsync, &async, CUDA_ERROR_INVALID_VALUE)->kernel, 0xf1);
    hearing_covers(&stream_calls, REGISTRY_BIT(kernel_launch));
}

/* --- what else is put into streams --- */

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

static void check_value(const struct gputrace_stream_value *value, CUstream expected, uint32_t waits, uint32_t writes)
{
    assert_ptr_equal(value->stream, expected);
    assert_int_equal(value->waits, waits);
    assert_int_equal(value->writes, writes);
}

#define VALUES(function, per_thread, waits, writes)                                                                \
    do {                                                                                                           \
        function##_params p = {.stream = stream, .addr = 0x1000};                                                  \
        check_value(HEAR(stream_value, function, &p, 0), stream, waits, writes);                                   \
        p.stream = NULL;                                                                                           \
        check_value(HEAR(stream_value, function, &p, CUDA_ERROR_INVALID_VALUE), default_stream(per_thread), waits, \
                    writes);                                                                                       \
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
#define CHECK(function, per_thread)                                                                                \
    do {                                                                                                           \
        function##_params p = {.stream = stream, .count = 4, .paramArray = each};                                  \
        check_value(HEAR(stream_value, function, &p, 0), stream, 2, 1);                                            \
        p.stream = NULL;                                                                                           \
        p.paramArray = NULL;                                                                                       \
        check_value(HEAR(stream_value, function, &p, CUDA_ERROR_INVALID_VALUE), default_stream(per_thread), 0, 0); \
    } while (0)
    PLAIN_AND_PTSZ(CHECK, cuStreamBatchMemOp);
    PLAIN_AND_PTSZ(CHECK, cuStreamBatchMemOp_v2);
#undef CHECK
}

UNIT_TEST(semaphores_count)
{
#define CHECK_SEMAPHORES(function, per_thread, waits, writes)                                                      \
    do {                                                                                                           \
        function##_params p = {.numExtSems = 3, .stream = stream};                                                 \
        check_value(HEAR(stream_value, function, &p, 0), stream, waits, writes);                                   \
        p.stream = NULL;                                                                                           \
        check_value(HEAR(stream_value, function, &p, CUDA_ERROR_INVALID_VALUE), default_stream(per_thread), waits, \
                    writes);                                                                                       \
    } while (0)
#define CHECK(function, per_thread) CHECK_SEMAPHORES(function, per_thread, 3, 0)
    PLAIN_AND_PTSZ(CHECK, cuWaitExternalSemaphoresAsync);
#undef CHECK
#define CHECK(function, per_thread) CHECK_SEMAPHORES(function, per_thread, 0, 3)
    PLAIN_AND_PTSZ(CHECK, cuSignalExternalSemaphoresAsync);
#undef CHECK
    hearing_covers(&stream_calls, REGISTRY_BIT(host_function) | REGISTRY_BIT(stream_value));
}

UNIT_MAIN(hearing_start, NULL)
