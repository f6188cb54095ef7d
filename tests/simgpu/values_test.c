/* Streams that wait for values in memory, and write them. */
#include "tests/unit.h"

#include <pthread.h>
#include <time.h>

#include "recording.h"

enum { SOON_NS = 20000000 };

UNIT_FIXTURE(start)
{
    cudaFree(NULL);
    recording_kernel();
    return cudaDeviceSynchronize();
}

static void launch(cudaStream_t stream)
{
    CUDA_OK(cudaLaunchKernel((const void *)recording_kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream));
}

static void *write_soon(void *value)
{
    nanosleep(&(struct timespec){0, SOON_NS}, NULL);
    __atomic_store_n((uint32_t *)value, 7, __ATOMIC_RELEASE);
    return NULL;
}

UNIT_TEST(a_stream_waits_for_a_value_that_the_host_writes)
{
    cudaStream_t stream;
    uint32_t *value;
    pthread_t writer;
    CUDA_OK(cudaStreamCreate(&stream));
    CUDA_OK(cudaMallocHost((void **)&value, sizeof(*value)));
    *value = 0;
    CUDA_OK(cuStreamWaitValue32(stream, (uintptr_t)value, 7, CU_STREAM_WAIT_VALUE_EQ));
    assert_int_equal(cudaStreamQuery(stream), cudaErrorNotReady);
    pthread_create(&writer, NULL, write_soon, value);
    CUDA_OK(cudaStreamSynchronize(stream));
    assert_int_equal(*value, 7);
    pthread_join(writer, NULL);
    CUDA_OK(cudaFreeHost(value));
    CUDA_OK(cudaStreamDestroy(stream));
}

UNIT_TEST(a_stream_waits_for_a_value_that_another_writes)
{
    cudaStream_t first, second;
    uint64_t *values;
    CUDA_OK(cudaStreamCreate(&first));
    CUDA_OK(cudaStreamCreate(&second));
    CUDA_OK(cudaMallocHost((void **)&values, 2 * sizeof(*values)));
    values[0] = values[1] = 0;
    CUDA_OK(cuStreamWaitValue64(second, (uintptr_t)&values[0], UINT64_C(1) << 40, CU_STREAM_WAIT_VALUE_GEQ));
    CUDA_OK(cuStreamWriteValue64(second, (uintptr_t)&values[1], 5, CU_STREAM_WRITE_VALUE_DEFAULT));
    launch(first);
    CUstreamBatchMemOpParams batch[2] = {0};
    batch[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    batch[0].writeValue.address = (uintptr_t)&values[0];
    batch[0].writeValue.value64 = UINT64_C(1) << 41;
    batch[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    batch[1].waitValue.address = (uintptr_t)&values[1];
    batch[1].waitValue.value = 4;
    batch[1].waitValue.flags = CU_STREAM_WAIT_VALUE_AND;
    assert_int_equal(values[1], 0);
    CUDA_OK(cuStreamBatchMemOp(first, 2, batch, 0));
    CUDA_OK(cudaStreamSynchronize(first));
    assert_true(values[0] == UINT64_C(1) << 41 && values[1] == 5);
    assert_int_equal(cuStreamWaitValue32(first, 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaFreeHost(values));
    CUDA_OK(cudaStreamDestroy(first));
    CUDA_OK(cudaStreamDestroy(second));
}

UNIT_MAIN(start, NULL)
