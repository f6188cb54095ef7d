/* CUPTI's callbacks: which calls are told, in which order, with what. */
#include "tests/unit.h"

#include "recording.h"

UNIT_FIXTURE(start)
{
    return recording_start_warm(1 << 16);
}

UNIT_FIXTURE(clear)
{
    recording_clear();
    return 0;
}

UNIT_TEST_WITH(a_runtime_call_has_its_driver_call_inside, NULL, clear)
{
    recording_tell(CUPTI_CB_DOMAIN_RUNTIME_API);
    recording_tell_one(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
    void *memory;
    CUDA_OK(cudaMalloc(&memory, 1000));
    recording_tell_one(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2);
    CUDA_OK(cudaFree(memory));

    const CUpti_CallbackId expected[8][3] = {
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, CUPTI_API_ENTER},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, CUPTI_API_ENTER},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, CUPTI_API_EXIT},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, CUPTI_API_EXIT},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020, CUPTI_API_ENTER},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, CUPTI_API_ENTER},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, CUPTI_API_EXIT},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020, CUPTI_API_EXIT},
    };
    assert_int_equal(recording_calls(), 8);
    for (size_t i = 0; i < 8; i++) {
        const struct recorded_call *call = recording_call(i);
        assert_int_equal(call->domain, expected[i][0]);
        assert_int_equal(call->cbid, expected[i][1]);
        assert_int_equal(call->site, expected[i][2]);
        assert_int_equal(call->correlation, recording_call(i / 4 * 4)->correlation);
        assert_int_equal(call->context_uid, 1);
    }
    assert_int_not_equal(recording_call(0)->correlation, recording_call(4)->correlation);
    assert_string_equal(recording_call(0)->name, "cudaMalloc");
    assert_string_equal(recording_call(1)->name, "cuMemAlloc_v2");
    assert_int_equal(recording_call(4)->first_word, (uintptr_t)memory);
    assert_int_equal(recording_call(5)->first_word, (uintptr_t)memory);
}

UNIT_TEST_WITH(correlation_data_goes_from_entry_to_exit, NULL, clear)
{
    recording_tell(CUPTI_CB_DOMAIN_RUNTIME_API);
    recording_tell(CUPTI_CB_DOMAIN_DRIVER_API);
    CUDA_OK(cudaDeviceSynchronize());
    assert_int_equal(recording_calls(), 4);
    assert_int_equal(recording_call(3)->data, recording_call(0)->data);
    assert_int_equal(recording_call(2)->data, recording_call(1)->data);
    assert_int_equal(recording_call(0)->data, 1000 + recording_call(0)->correlation);
    assert_int_equal(recording_call(1)->cbid, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2);
}

UNIT_TEST_WITH(an_exit_tells_the_result, NULL, clear)
{
    recording_tell(CUPTI_CB_DOMAIN_RUNTIME_API);
    void *memory;
    assert_int_equal(cudaMalloc(&memory, (size_t)1 << 60), cudaErrorMemoryAllocation);
    assert_false(recording_call(0)->has_result);
    assert_true(recording_call(1)->has_result);
    assert_int_equal(recording_call(1)->result, cudaErrorMemoryAllocation);
    assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
}

UNIT_TEST_WITH(a_launch_tells_the_kernels_name_in_both_domains, NULL, clear)
{
    recording_tell_one(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    recording_tell_one(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    recording_kernel();
    assert_int_equal(recording_calls(), 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(recording_call(i)->symbol, "_Z16recording_kernelv");
}

UNIT_TEST_WITH(resources_are_told, NULL, clear)
{
    recording_tell(CUPTI_CB_DOMAIN_RESOURCE);
    cudaStream_t stream;
    CUDA_OK(cudaStreamCreate(&stream));
    CUDA_OK(cudaStreamDestroy(stream));
    CUmodule module;
    CUDA_OK(cuModuleLoadData(&module, recording_ptx));
    CUDA_OK(cuModuleUnload(module));
    CUcontext context;
    CUDA_OK(cuCtxCreate_v4(&context, NULL, 0, 0));
    CUDA_OK(cuCtxDestroy(context));
    static const CUpti_CallbackId expected[] = {
        CUPTI_CBID_RESOURCE_STREAM_CREATED,          CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
        CUPTI_CBID_RESOURCE_MODULE_LOADED,           CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
        CUPTI_CBID_RESOURCE_CONTEXT_CREATED,         CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
        CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, /* the context's own default stream */
    };
    enum { EXPECTED = sizeof(expected) / sizeof(expected[0]) };
    assert_int_equal(recording_calls(), EXPECTED);
    for (size_t i = 0; i < EXPECTED; i++)
        assert_int_equal(recording_call(i)->cbid, expected[i]);
}

UNIT_TEST_WITH(streams_go_with_their_context, NULL, clear)
{
    CUcontext context;
    CUstream stream;
    CUDA_OK(cuCtxCreate_v4(&context, NULL, 0, 0));
    CUDA_OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CUDA_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    recording_tell(CUPTI_CB_DOMAIN_RESOURCE);
    recording_tell_one(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2);
    CUDA_OK(cuCtxDestroy(context));
    assert_int_equal(recording_calls(), 6);
    assert_int_equal(recording_call(0)->site, CUPTI_API_ENTER);
    assert_int_equal(recording_call(1)->cbid, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
    for (size_t i = 2; i < 5; i++) /* its own default stream too */
        assert_int_equal(recording_call(i)->cbid, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
    assert_int_equal(recording_call(5)->site, CUPTI_API_EXIT);
}

UNIT_TEST_WITH(synchronisation_is_told, NULL, clear)
{
    recording_tell(CUPTI_CB_DOMAIN_SYNCHRONIZE);
    CUDA_OK(cudaStreamSynchronize(NULL));
    CUDA_OK(cudaDeviceSynchronize());
    assert_int_equal(recording_calls(), 2);
    assert_int_equal(recording_call(0)->cbid, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED);
    assert_int_equal(recording_call(1)->cbid, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED);
}

UNIT_TEST_WITH(nothing_is_told_that_is_not_enabled, NULL, clear)
{
    recording_kernel();
    CUDA_OK(cudaDeviceSynchronize());
    assert_int_equal(recording_calls(), 0);
}

UNIT_TEST_WITH(a_process_has_one_subscriber, NULL, clear)
{
    CUpti_SubscriberHandle second;
    char name[64] = "";
    CUpti_SubscriberParams params = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                     .subscriberName = "second",
                                     .oldSubscriberName = name,
                                     .oldSubscriberSize = sizeof(name)};
    assert_int_equal(cuptiSubscribe(&second, NULL, NULL), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    assert_int_equal(cuptiSubscribe_v2(&second, NULL, NULL, &params), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    assert_string_equal(name, "CUPTI for unnamed");
}

UNIT_TEST_WITH(callbacks_have_the_names_of_the_headers, NULL, clear)
{
    const char *name;
    CUDA_OK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &name));
    assert_string_equal(name, "cuMemAlloc_v2");
    CUDA_OK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, &name));
    assert_string_equal(name, "cudaMalloc_v3020");
    CUDA_OK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 505, &name));
    assert_string_equal(name, "__cudaLaunchKernel_v13000");
    assert_int_equal(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 100000, &name), CUPTI_ERROR_INVALID_PARAMETER);
}

UNIT_MAIN(start, NULL)
