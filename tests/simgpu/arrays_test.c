/* Arrays: copies of all shapes into, out of and between them, and mipmapped ones. */
#include "tests/unit.h"

#include "recording.h"

enum { WIDTH = 64, HEIGHT = 16, BYTES = WIDTH * HEIGHT };

static uint8_t source[BYTES], target[BYTES];
static const struct cudaChannelFormatDesc texel = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};

UNIT_FIXTURE(start)
{
    for (size_t i = 0; i < BYTES; i++)
        source[i] = (uint8_t)(i * 5 + i / 256);
    recording_start(1 << 16);
    return cudaFree(NULL);
}

UNIT_FIXTURE(clear)
{
    memset(target, 0, BYTES);
    recording_clear();
    return 0;
}

static cudaArray_t new_array(void)
{
    cudaArray_t array;
    CUDA_OK(cudaMallocArray(&array, &texel, WIDTH, HEIGHT, 0));
    return array;
}

static void fetch(cudaArray_t array)
{
    CUDA_OK(cudaMemcpy2DFromArray(target, WIDTH, array, 0, 0, WIDTH, HEIGHT, cudaMemcpyDeviceToHost));
}

UNIT_TEST_WITH(rows_go_into_arrays_and_out_of_them, NULL, clear)
{
    cudaArray_t array = new_array();
    cudaStream_t stream;
    CUDA_OK(cudaStreamCreate(&stream));
    CUDA_OK(cudaMemcpy2DToArray(array, 0, 0, source, WIDTH, WIDTH, HEIGHT / 2, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy2DToArrayAsync(array, 0, HEIGHT / 2, source + BYTES / 2, WIDTH, WIDTH, HEIGHT / 2,
                                     cudaMemcpyHostToDevice, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    fetch(array);
    assert_memory_equal(source, target, BYTES);
    memset(target, 0, BYTES);
    CUDA_OK(cudaMemcpy2DFromArrayAsync(target, WIDTH, array, 8, 4, 10, 3, cudaMemcpyDeviceToHost, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    for (size_t y = 0; y < 3; y++)
        assert_memory_equal(target + y * WIDTH, source + (4 + y) * WIDTH + 8, 10);
    assert_int_equal(target[10], 0);
    CUDA_OK(cudaStreamDestroy(stream));
    CUDA_OK(cudaFreeArray(array));
}

UNIT_TEST_WITH(arrays_are_copied_to_each_other, NULL, clear)
{
    cudaArray_t first = new_array(), second = new_array();
    CUDA_OK(cudaMemcpy2DToArray(first, 0, 0, source, WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy2DArrayToArray(second, 0, 0, first, 0, 0, WIDTH, HEIGHT, cudaMemcpyDeviceToDevice));
    fetch(second);
    assert_memory_equal(source, target, BYTES);
    CUDA_OK(cudaFreeArray(first));
    CUDA_OK(cudaFreeArray(second));
}

UNIT_TEST_WITH(the_driver_copies_single_rows, NULL, clear)
{
    const CUDA_ARRAY_DESCRIPTOR shape = {BYTES, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    CUarray first, second;
    CUstream stream;
    CUDA_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUDA_OK(cuArrayCreate(&first, &shape));
    CUDA_OK(cuArrayCreate(&second, &shape));
    CUDA_OK(cuMemcpyHtoA(first, 0, source, 100));
    CUDA_OK(cuMemcpyHtoAAsync(first, 100, source + 100, BYTES - 100, stream));
    CUDA_OK(cuStreamSynchronize(stream));
    CUDA_OK(cuMemcpyAtoA(second, 0, first, 0, BYTES));
    CUDA_OK(cuMemcpyAtoH(target, second, 0, BYTES / 2));
    CUDA_OK(cuMemcpyAtoHAsync(target + BYTES / 2, second, BYTES / 2, BYTES / 2, stream));
    CUDA_OK(cuStreamSynchronize(stream));
    assert_memory_equal(source, target, BYTES);
    CUDA_OK(cuArrayDestroy(first));
    CUDA_OK(cuArrayDestroy(second));
    CUDA_OK(cuStreamDestroy(stream));
}

UNIT_TEST_WITH(boxes_are_copied_by_the_batch, NULL, clear)
{
    cudaArray_t array = new_array();
    void *device;
    cudaStream_t stream;
    CUDA_OK(cudaStreamCreate(&stream));
    CUDA_OK(cudaMalloc(&device, BYTES));
    CUDA_OK(cudaMemcpy(device, source, BYTES, cudaMemcpyHostToDevice));
    struct cudaMemcpy3DBatchOp batch[2] = {0};
    for (size_t i = 0; i < 2; i++) { /* its lower half, then its upper one */
        batch[i].src.type = cudaMemcpyOperandTypePointer;
        batch[i].src.op.ptr.ptr = (uint8_t *)device + (1 - i) * BYTES / 2;
        batch[i].dst.type = cudaMemcpyOperandTypeArray;
        batch[i].dst.op.array.array = array;
        batch[i].dst.op.array.offset.y = (1 - i) * HEIGHT / 2;
        batch[i].extent = (struct cudaExtent){WIDTH, HEIGHT / 2, 1};
        batch[i].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    }
    CUDA_OK(cudaMemcpy3DBatchAsync(2, batch, 0, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    fetch(array);
    assert_memory_equal(source, target, BYTES);
    CUDA_OK(cudaFree(device));
    CUDA_OK(cudaStreamDestroy(stream));
    CUDA_OK(cudaFreeArray(array));
}

UNIT_TEST_WITH(the_runtime_s_copies_are_boxes_to_the_driver, NULL, clear)
{
    cudaArray_t array = new_array();
    recording_tell(CUPTI_CB_DOMAIN_DRIVER_API);
    CUDA_OK(cudaMemcpy2DToArray(array, 0, 0, source, WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    assert_int_equal(recording_calls(), 2);
    assert_string_equal(recording_call(0)->name, "cuMemcpy3D_v2");
    CUDA_OK(cudaFreeArray(array));
}

UNIT_TEST_WITH(a_mipmapped_array_is_one_piece_of_memory_with_many_arrays, NULL, clear)
{
    recording_enable((const CUpti_ActivityKind[]){CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_INVALID});
    cudaMipmappedArray_t mipmap;
    cudaArray_t levels[3];
    CUDA_OK(cudaMallocMipmappedArray(&mipmap, &texel, (struct cudaExtent){WIDTH, HEIGHT, 0}, 3, 0));
    for (unsigned i = 0; i < 3; i++)
        CUDA_OK(cudaGetMipmappedArrayLevel(&levels[i], mipmap, i));
    assert_int_equal(cudaGetMipmappedArrayLevel(&levels[0], mipmap, 3), cudaErrorInvalidValue);
    for (unsigned i = 0; i < 3; i++)
        CUDA_OK(
            cudaMemcpy2DToArray(levels[i], 0, 0, source + i, WIDTH, WIDTH >> i, HEIGHT >> i, cudaMemcpyHostToDevice));
    for (unsigned i = 0; i < 3; i++) {
        CUDA_OK(cudaMemcpy2DFromArray(target, WIDTH, levels[i], 0, 0, WIDTH >> i, HEIGHT >> i, cudaMemcpyDeviceToHost));
        for (unsigned y = 0; y < (unsigned)HEIGHT >> i; y++)
            assert_memory_equal(target + y * WIDTH, source + i + y * WIDTH, WIDTH >> i);
    }
    CUDA_OK(cudaFreeMipmappedArray(mipmap));
    recording_flush(false);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_MEMORY2), 2);
    const CUpti_ActivityMemory4 *memory = recording_get(CUPTI_ACTIVITY_KIND_MEMORY2, 0);
    assert_int_equal(memory->bytes, BYTES + BYTES / 4 + BYTES / 16);
}

UNIT_TEST_WITH(there_are_no_more_levels_than_halves, NULL, clear)
{
    const CUDA_ARRAY3D_DESCRIPTOR shape = {8, 2, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
    CUmipmappedArray mipmap;
    CUarray level;
    CUDA_OK(cuMipmappedArrayCreate(&mipmap, &shape, 100));
    CUDA_OK(cuMipmappedArrayGetLevel(&level, mipmap, 3));
    assert_int_equal(cuMipmappedArrayGetLevel(&level, mipmap, 4), CUDA_ERROR_INVALID_VALUE);
    CUDA_OK(cuMipmappedArrayDestroy(mipmap));
    assert_int_equal(cuMipmappedArrayCreate(&mipmap, &shape, 0), CUDA_ERROR_INVALID_VALUE);
}

UNIT_MAIN(start, NULL)
