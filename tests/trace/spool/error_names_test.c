#include "tests/unit.h"

#include <cuda.h>
#include <driver_types.h>

#include "trace/spool/cupti.h"

UNIT_TEST(test_runtime_and_driver_have_number_spaces_of_their_own)
{
    assert_string_equal(runtime_error_name(cudaErrorInvalidMemcpyDirection), "cudaErrorInvalidMemcpyDirection");
    assert_null(driver_error_name(cudaErrorInvalidMemcpyDirection));
    assert_string_equal(runtime_error_name(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    assert_string_equal(driver_error_name(CUDA_ERROR_OUT_OF_MEMORY), "CUDA_ERROR_OUT_OF_MEMORY");
}

UNIT_TEST(test_the_first_and_the_last_of_each_are_known)
{
    assert_string_equal(runtime_error_name(cudaErrorInvalidValue), "cudaErrorInvalidValue");
    assert_string_equal(runtime_error_name(cudaErrorUnknown), "cudaErrorUnknown");
    assert_string_equal(runtime_error_name(cudaErrorApiFailureBase), "cudaErrorApiFailureBase");
    assert_string_equal(driver_error_name(CUDA_ERROR_INVALID_VALUE), "CUDA_ERROR_INVALID_VALUE");
    assert_string_equal(driver_error_name(CUDA_ERROR_NOT_READY), "CUDA_ERROR_NOT_READY");
    assert_string_equal(driver_error_name(CUDA_ERROR_UNKNOWN), "CUDA_ERROR_UNKNOWN");
}

UNIT_TEST(test_success_and_numbers_of_no_error_have_no_name)
{
    for (int64_t number = -1; number <= INT64_C(1) << 33; number += INT64_C(1) << 33) {
        assert_null(runtime_error_name(number));
        assert_null(driver_error_name(number));
    }
    assert_null(runtime_error_name(0));
    assert_null(driver_error_name(0));
    assert_null(driver_error_name(cudaErrorApiFailureBase));
}

UNIT_MAIN(NULL, NULL)
