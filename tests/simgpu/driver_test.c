/* The driver as a whole: initialisation, fork, and functions found by name. */
#include "tests/unit.h"

#include <sys/wait.h>

#include "recording.h"

static int has_no_driver_in_a_fork(void)
{
    recording_kernel();
    HOLDS(cudaDeviceSynchronize() == cudaSuccess);
    pid_t child = fork();
    if (!child) {
        void *memory;
        _exit(cudaMalloc(&memory, 100) == cudaErrorInitializationError ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    HOLDS(status == 0);
    recording_kernel();
    HOLDS(cudaDeviceSynchronize() == cudaSuccess); /* here all goes on */
    return 0;
}

UNIT_TEST(a_forked_child_has_no_driver)
{
    EXITS(has_no_driver_in_a_fork, NULL, NULL);
}

static int cannot_call_before_init(void)
{
    int count;
    HOLDS(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
    HOLDS(cuInit(0) == CUDA_SUCCESS);
    CUdeviceptr memory;
    HOLDS(cuMemAlloc(&memory, 1) == CUDA_ERROR_INVALID_CONTEXT);
    HOLDS(cuInit(1) == CUDA_ERROR_INVALID_VALUE);
    return 0;
}

UNIT_TEST(the_driver_wants_to_be_initialised)
{
    EXITS(cannot_call_before_init, NULL, NULL);
}

static int finds_entry_points(void)
{
    CUresult (*allocate)(CUdeviceptr *, size_t) = NULL;
    CUdriverProcAddressQueryResult found;
    HOLDS(cuInit(0) == CUDA_SUCCESS);
    HOLDS(cuGetProcAddress("cuMemAlloc", (void **)&allocate, 13000, 0, &found) == CUDA_SUCCESS);
    HOLDS(allocate == cuMemAlloc_v2 && found == CU_GET_PROC_ADDRESS_SUCCESS);
    void *function = NULL;
    HOLDS(cuGetProcAddress("cuCtxCreate", &function, 12000, 0, NULL) == CUDA_SUCCESS);
    void *newer = NULL;
    HOLDS(cuGetProcAddress("cuCtxCreate", &newer, 13000, 0, NULL) == CUDA_SUCCESS);
    HOLDS(function && newer && function != newer);
    HOLDS(cuGetProcAddress("cuNothing", &function, 13000, 0, &found) == CUDA_ERROR_NOT_FOUND);
    HOLDS(function == NULL && found == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    return 0;
}

UNIT_TEST(entry_points_are_found_by_name_and_version)
{
    EXITS(finds_entry_points, NULL, NULL);
}

UNIT_TEST(what_fails_fails_as_on_a_real_gpu)
{
    recording_start(1 << 16);
    CUDA_OK(cudaFree(NULL));
    recording_kernel();
    recording_tell(CUPTI_CB_DOMAIN_DRIVER_API);
    const void *kernel = (const void *)recording_kernel;
    void *memory;
    assert_int_equal(cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){5000, 1, 1}, NULL, 0, NULL),
                     cudaErrorInvalidConfiguration);
    assert_int_equal(cuMemFree(0x1000), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemcpyHtoD(0x1000, &memory, 8), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD8(0x1000, 0, 8), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cudaEventRecord(NULL, NULL), cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaMalloc(&memory, (size_t)1 << 60), cudaErrorMemoryAllocation);
    static const struct {
        const char *name;
        int result;
    } expected[] = {{"cuLaunchKernel", CUDA_ERROR_INVALID_VALUE},  {"cuMemFree_v2", CUDA_ERROR_INVALID_VALUE},
                    {"cuMemcpyHtoD_v2", CUDA_ERROR_INVALID_VALUE}, {"cuMemsetD8_v2", CUDA_ERROR_INVALID_VALUE},
                    {"cuEventRecord", CUDA_ERROR_INVALID_HANDLE},  {"cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY}};
    assert_int_equal(recording_calls(), 12);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(recording_call(2 * i + 1)->name, expected[i].name);
        assert_int_equal(recording_call(2 * i + 1)->result, expected[i].result);
    }
    recording_clear();
}

UNIT_TEST(what_the_runtime_refuses_itself_makes_no_call_of_the_driver)
{
    char bytes[8];
    recording_tell(CUPTI_CB_DOMAIN_DRIVER_API);
    assert_int_equal(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
    assert_int_equal(cudaMemcpy(bytes, bytes, 8, (enum cudaMemcpyKind)77), cudaErrorInvalidMemcpyDirection);
    assert_int_equal(recording_calls(), 0);
    CUDA_OK(cudaFree(NULL)); /* but this does */
    assert_int_equal(recording_calls(), 2);
    assert_string_equal(recording_call(0)->name, "cuMemFree_v2");
    assert_int_equal(recording_call(0)->first_word, 0);
    recording_clear();
}

UNIT_MAIN(NULL, NULL)
