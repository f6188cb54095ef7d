/* Modules, libraries and functions: when each is loaded, and what the tool is told of it. */
#include "tests/unit.h"

#include "recording.h"

enum { ELF_WORD = 0x464c457f };

#define DRIVER CUPTI_CB_DOMAIN_DRIVER_API
#define RESOURCE CUPTI_CB_DOMAIN_RESOURCE
#define CBID(name) CUPTI_DRIVER_TRACE_CBID_##name

UNIT_FIXTURE(clear)
{
    recording_clear();
    return 0;
}

UNIT_FIXTURE(start)
{
    recording_start(1 << 16);
    return cudaFree(NULL);
}

/* The callbacks were these: domain, id, site. */
static int told(const uint32_t (*expected)[3], size_t count)
{
    HOLDS(recording_calls() == count);
    for (size_t i = 0; i < count; i++) {
        const struct recorded_call *call = recording_call(i);
        HOLDS(call->domain == expected[i][0] && call->cbid == expected[i][1]);
        HOLDS(call->domain == RESOURCE || call->site == expected[i][2]);
    }
    return 0;
}

static int loads_at_its_first_launch(void)
{
    static const uint32_t first[][3] = {
        {DRIVER, CBID(cuLibraryLoadData), CUPTI_API_ENTER},  {DRIVER, CBID(cuLibraryLoadData), CUPTI_API_EXIT},
        {DRIVER, CBID(cuLibraryGetKernel), CUPTI_API_ENTER}, {DRIVER, CBID(cuLibraryGetKernel), CUPTI_API_EXIT},
        {DRIVER, CBID(cuKernelGetName), CUPTI_API_ENTER},    {DRIVER, CBID(cuKernelGetName), CUPTI_API_EXIT},
        {DRIVER, CBID(cuLaunchKernel), CUPTI_API_ENTER},     {RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, 0},
        {RESOURCE, CUPTI_CBID_RESOURCE_MODULE_PROFILED, 0},  {DRIVER, CBID(cuLaunchKernel), CUPTI_API_EXIT},
        {DRIVER, CBID(cuLaunchKernel), CUPTI_API_ENTER},     {RESOURCE, CUPTI_CBID_RESOURCE_MODULE_PROFILED, 0},
        {DRIVER, CBID(cuLaunchKernel), CUPTI_API_EXIT},
    };
    recording_start(1 << 16);
    HOLDS(cudaFree(NULL) == cudaSuccess);
    recording_tell(DRIVER);
    recording_tell(RESOURCE);
    recording_kernel();
    recording_kernel();
    HOLDS(told(first, sizeof(first) / sizeof(first[0])) == 0);
    HOLDS(recording_call(7)->module_id == recording_call(8)->module_id);
    HOLDS(recording_call(7)->code_word == ELF_WORD && recording_call(7)->context_uid == 1);
    for (size_t i = 0; i < 10; i++)
        HOLDS(recording_call(i)->domain == RESOURCE ||
              recording_call(i)->correlation == recording_call(0)->correlation);
    return 0;
}

UNIT_TEST(a_program_s_kernel_is_loaded_at_its_first_launch)
{
    EXITS(loads_at_its_first_launch, NULL, NULL);
}

static int records_the_loading(void)
{
    recording_start(1 << 16);
    HOLDS(cudaFree(NULL) == cudaSuccess);
    recording_enable((const CUpti_ActivityKind[]){CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_RUNTIME,
                                                  CUPTI_ACTIVITY_KIND_INVALID});
    for (int i = 0; i < 3; i++)
        recording_kernel();
    HOLDS(cudaDeviceSynchronize() == cudaSuccess);
    recording_flush(false);
    HOLDS(recording_count(CUPTI_ACTIVITY_KIND_OVERHEAD) == 1); /* the flush's own comes with the next */
    const CUpti_ActivityOverhead3 *load = recording_get(CUPTI_ACTIVITY_KIND_OVERHEAD, 0);
    const CUpti_ActivityAPI *launch =
        recording_api(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    HOLDS(launch != NULL && (int)load->overheadKind == 0x50000);
    HOLDS(load->correlationId == launch->correlationId && load->objectId.pt.threadId == launch->threadId);
    HOLDS(load->start > launch->start && load->end < launch->end && load->end - load->start >= 10000);
    return 0;
}

UNIT_TEST(loading_a_function_is_an_overhead_of_its_first_launch)
{
    EXITS(records_the_loading, NULL, NULL);
}

UNIT_TEST_WITH(a_function_is_loaded_once_in_each_context, start, clear)
{
    recording_kernel();
    recording_tell_one(RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED);
    recording_kernel();
    assert_int_equal(recording_calls(), 0);
    CUcontext context;
    CUDA_OK(cuCtxCreate_v4(&context, NULL, 0, 0));
    recording_kernel();
    recording_kernel();
    assert_int_equal(recording_calls(), 1);
    uint32_t id;
    CUDA_OK(cuptiGetContextId(context, &id));
    assert_int_equal(recording_call(0)->context_uid, id);
    CUDA_OK(cuCtxDestroy(context));
}

UNIT_TEST_WITH(a_module_is_loaded_where_it_is_asked_for, NULL, clear)
{
    static const uint32_t expected[][3] = {
        {DRIVER, CBID(cuModuleLoadData), CUPTI_API_ENTER},         {RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, 0},
        {DRIVER, CBID(cuModuleLoadData), CUPTI_API_EXIT},          {DRIVER, CBID(cuModuleUnload), CUPTI_API_ENTER},
        {RESOURCE, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, 0}, {DRIVER, CBID(cuModuleUnload), CUPTI_API_EXIT},
    };
    recording_tell(DRIVER);
    recording_tell(RESOURCE);
    CUmodule module;
    CUDA_OK(cuModuleLoadData(&module, recording_ptx));
    CUDA_OK(cuModuleUnload(module));
    assert_int_equal(told(expected, 6), 0);
    assert_int_equal(recording_call(1)->code_word, ELF_WORD);
    assert_int_equal(recording_call(1)->module_id, recording_call(4)->module_id);
}

UNIT_TEST_WITH(a_function_is_loaded_where_it_is_first_asked_for, NULL, clear)
{
    CUmodule module;
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CUfunctionLoadingState loading;
    recording_enable((const CUpti_ActivityKind[]){CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_INVALID});
    CUDA_OK(cuModuleLoadData(&module, recording_ptx));
    recording_flush(false);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_OVERHEAD), 0);
    CUDA_OK(cuModuleGetFunction(&function, module, "first"));
    CUDA_OK(cuModuleGetFunction(&function, module, "first"));
    CUDA_OK(cuFuncLoad(function));
    CUDA_OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));

    CUDA_OK(cuLibraryLoadData(&library, recording_ptx, NULL, NULL, 0, NULL, NULL, 0));
    CUDA_OK(cuLibraryGetKernel(&kernel, library, "second"));
    CUDA_OK(cuFuncIsLoaded(&loading, (CUfunction)kernel));
    assert_int_equal(loading, CU_FUNCTION_LOADING_STATE_UNLOADED);
    CUDA_OK(cuKernelGetFunction(&function, kernel));
    CUDA_OK(cuFuncIsLoaded(&loading, function));
    assert_int_equal(loading, CU_FUNCTION_LOADING_STATE_LOADED);
    CUDA_OK(cuCtxSynchronize());
    recording_flush(false);
    size_t loads = 0;
    const CUpti_ActivityOverhead3 *overhead;
    for (size_t i = 0; (overhead = recording_get(CUPTI_ACTIVITY_KIND_OVERHEAD, i)); i++)
        loads += (int)overhead->overheadKind == 0x50000;
    assert_int_equal(loads, 2);
    CUDA_OK(cuLibraryUnload(library));
    CUDA_OK(cuModuleUnload(module));
}

UNIT_TEST_WITH(a_library_that_no_context_used_was_never_loaded, NULL, clear)
{
    CUlibrary library;
    recording_tell(RESOURCE);
    CUDA_OK(cuLibraryLoadData(&library, recording_ptx, NULL, NULL, 0, NULL, NULL, 0));
    CUDA_OK(cuLibraryUnload(library));
    assert_int_equal(recording_calls(), 0);
    CUDA_OK(cuLibraryLoadData(&library, recording_ptx, NULL, NULL, 0, NULL, NULL, 0));
    CUmodule module;
    CUDA_OK(cuLibraryGetModule(&module, library));
    CUDA_OK(cuLibraryUnload(library));
    assert_int_equal(recording_calls(), 2);
    assert_int_equal(recording_call(0)->cbid, CUPTI_CBID_RESOURCE_MODULE_LOADED);
    assert_int_equal(recording_call(1)->cbid, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
}

UNIT_TEST_WITH(what_is_no_image_is_refused, NULL, clear)
{
    CUmodule module;
    CUlibrary library;
    static const char *const junk[] = {"this is no image of device code", "\1\2\3\4\5", ""};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cuModuleLoadData(&module, junk[i]), CUDA_ERROR_INVALID_IMAGE);
        assert_int_equal(cuLibraryLoadData(&library, junk[i], NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_INVALID_IMAGE);
    }
    assert_int_equal(cuModuleLoad(&module, "/nowhere"), CUDA_ERROR_FILE_NOT_FOUND);
}

UNIT_TEST_WITH(loading_is_lazy, NULL, clear)
{
    CUmoduleLoadingMode mode;
    CUDA_OK(cuModuleGetLoadingMode(&mode));
    assert_int_equal(mode, CU_MODULE_LAZY_LOADING);
}

UNIT_MAIN(NULL, NULL)
