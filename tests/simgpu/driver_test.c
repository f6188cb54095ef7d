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

static void a_forked_child_has_no_driver(void **state)
{
    (void)state;
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

static void the_driver_wants_to_be_initialised(void **state)
{
    (void)state;
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

static void entry_points_are_found_by_name_and_version(void **state)
{
    (void)state;
    EXITS(finds_entry_points, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forked_child_has_no_driver),
        cmocka_unit_test(the_driver_wants_to_be_initialised),
        cmocka_unit_test(entry_points_are_found_by_name_and_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
