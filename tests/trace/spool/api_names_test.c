#include "tests/unit.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include "trace/spool/cupti.h"
#include "trace/spool/event_record.h"

#define RUNTIME(cbid) api_name(EVENT_API_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_##cbid)
#define DRIVER(cbid) api_name(EVENT_API_DRIVER, CUPTI_DRIVER_TRACE_CBID_##cbid)

UNIT_TEST(test_the_names_that_analysers_look_for_come_out_exactly)
{
    assert_string_equal(RUNTIME(cudaLaunchKernel_v7000), "cudaLaunchKernel");
    assert_string_equal(RUNTIME(cudaLaunchKernel_ptsz_v7000), "cudaLaunchKernel");
    assert_string_equal(RUNTIME(__cudaLaunchKernel_v13000), "cudaLaunchKernel");
    assert_string_equal(RUNTIME(cudaLaunchKernelExC_v11060), "cudaLaunchKernelExC");
    assert_string_equal(RUNTIME(cudaMemcpyAsync_v3020), "cudaMemcpyAsync");
    assert_string_equal(RUNTIME(cudaMemcpyAsync_ptsz_v7000), "cudaMemcpyAsync");
    assert_string_equal(RUNTIME(cudaMemsetAsync_v3020), "cudaMemsetAsync");
    assert_string_equal(DRIVER(cuLaunchKernel), "cuLaunchKernel");
    assert_string_equal(DRIVER(cuLaunchKernel_ptsz), "cuLaunchKernel");
    assert_string_equal(DRIVER(cuLaunchKernelEx), "cuLaunchKernelEx");
    assert_string_equal(DRIVER(cuMemAlloc_v2), "cuMemAlloc");
    assert_string_equal(DRIVER(cuMemcpyHtoDAsync_v2_ptsz), "cuMemcpyHtoDAsync");
    assert_string_equal(DRIVER(cuMemcpy2D_v2), "cuMemcpy2D");
}

UNIT_TEST(test_every_id_of_the_headers_has_a_name)
{
    for (uint32_t cbid = 1; cbid < CUPTI_RUNTIME_TRACE_CBID_SIZE; cbid++)
        assert_non_null(api_name(EVENT_API_RUNTIME, cbid));
    for (uint32_t cbid = 1; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE; cbid++)
        assert_non_null(api_name(EVENT_API_DRIVER, cbid));
}

UNIT_TEST(test_other_ids_have_none)
{
    assert_null(api_name(EVENT_API_RUNTIME, 0));
    assert_null(api_name(EVENT_API_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_SIZE));
    assert_null(api_name(EVENT_API_DRIVER, UINT32_MAX));
}

UNIT_TEST(test_what_calls_start_is_reported_by_their_names)
{
#define STARTS(domain, name) api_sorts(EVENT_API_##domain, CUPTI_##domain##_TRACE_CBID_##name)
    assert_int_equal(STARTS(RUNTIME, cudaLaunchKernel_ptsz_v7000), LAUNCH_KERNELS);
    assert_int_equal(STARTS(DRIVER, cuLaunchCooperativeKernel), LAUNCH_KERNELS);
    assert_int_equal(STARTS(DRIVER, cuLaunchHostFunc), 0);
    assert_int_equal(STARTS(RUNTIME, cudaMemcpy2DAsync_v3020), LAUNCH_COPIES);
    assert_int_equal(STARTS(DRIVER, cuMemcpyHtoDAsync_v2), LAUNCH_COPIES);
    assert_int_equal(STARTS(DRIVER, cuMemsetD2D8_v2), LAUNCH_SETS);
    assert_int_equal(STARTS(RUNTIME, cudaGraphLaunch_v10000), LAUNCH_ANYTHING);
    assert_int_equal(STARTS(RUNTIME, cudaGraphInstantiate_v10000), 0);
    assert_int_equal(STARTS(DRIVER, cuEventRecordWithFlags), LAUNCH_CUDA_EVENTS);
    assert_int_equal(STARTS(RUNTIME, cudaMalloc_v3020), 0);
    assert_int_equal(api_sorts(EVENT_API_DRIVER, UINT32_MAX), 0);
}

UNIT_MAIN(NULL, NULL)
