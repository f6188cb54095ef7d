/* Memory: bytes really move, pointers are known for what they are, and limits are kept. */
#include "tests/unit.h"

#include "recording.h"

enum { BYTES = 1 << 16, GRANULARITY = 2 << 20 };

static uint8_t source[BYTES], target[BYTES];

UNIT_FIXTURE(start)
{
    setenv("SIMGPU_DEVICES", "2", 1);
    for (size_t i = 0; i < BYTES; i++)
        source[i] = (uint8_t)(i * 7 + i / 256);
    return cudaFree(NULL);
}

UNIT_FIXTURE(clean_target)
{
    memset(target, 0, BYTES);
    return 0;
}

UNIT_TEST_WITH(bytes_go_there_and_back, clean_target, NULL)
{
    void *first, *second;
    CUDA_OK(cudaMalloc(&first, BYTES));
    CUDA_OK(cudaMalloc(&second, BYTES));
    CUDA_OK(cudaMemcpy(first, source, BYTES, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(second, first, BYTES, cudaMemcpyDeviceToDevice));
    CUDA_OK(cudaMemcpy(target, second, BYTES, cudaMemcpyDefault));
    assert_memory_equal(source, target, BYTES);
    CUDA_OK(cudaFree(first));
    CUDA_OK(cudaFree(second));
}

UNIT_TEST_WITH(pageable_memory_is_read_before_an_asynchronous_copy_returns, clean_target, NULL)
{
    void *device;
    uint8_t *changing = malloc(BYTES);
    CUDA_OK(cudaMalloc(&device, BYTES));
    memcpy(changing, source, BYTES);
    CUDA_OK(cudaMemcpyAsync(device, changing, BYTES, cudaMemcpyHostToDevice, NULL));
    memset(changing, 0, BYTES);
    free(changing);
    CUDA_OK(cudaMemcpyAsync(target, device, BYTES, cudaMemcpyDeviceToHost, NULL));
    assert_memory_equal(source, target, BYTES); /* to pageable memory it is as if it were synchronous */
    CUDA_OK(cudaFree(device));
}

UNIT_TEST_WITH(rows_of_pitched_memory_are_copied_one_by_one, clean_target, NULL)
{
    void *device;
    size_t pitch;
    CUDA_OK(cudaMallocPitch(&device, &pitch, 100, 50));
    assert_true(pitch >= 100 && pitch % 512 == 0);
    CUDA_OK(cudaMemset2D(device, pitch, 0xab, 100, 50));
    CUDA_OK(cudaMemcpy2D(device, pitch, source, 100, 100, 20, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy2D(target, 120, device, pitch, 100, 50, cudaMemcpyDeviceToHost));
    for (size_t row = 0; row < 20; row++)
        assert_memory_equal(target + row * 120, source + row * 100, 100);
    assert_int_equal(target[20 * 120], 0xab);
    assert_int_equal(target[100], 0); /* between the rows */
    CUDA_OK(cudaFree(device));
}

UNIT_TEST_WITH(arrays_keep_planes, clean_target, NULL)
{
    cudaArray_t array;
    const struct cudaChannelFormatDesc format = {.x = 32, .f = cudaChannelFormatKindUnsigned};
    CUDA_OK(cudaMallocArray(&array, &format, 16, 8, 0));
    CUDA_OK(cudaMemcpy2DToArray(array, 0, 0, source, 64, 64, 8, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy2DFromArray(target, 32, array, 32, 2, 32, 4, cudaMemcpyDeviceToHost));
    for (size_t row = 0; row < 4; row++)
        assert_memory_equal(target + row * 32, source + (row + 2) * 64 + 32, 32);
    CUDA_OK(cudaFreeArray(array));
}

UNIT_TEST_WITH(sets_of_every_width, clean_target, NULL)
{
    CUdeviceptr device;
    CUDA_OK(cuMemAlloc(&device, 64));
    CUDA_OK(cuMemsetD8(device, 0x11, 64));
    CUDA_OK(cuMemsetD16(device + 16, 0x2233, 4));
    CUDA_OK(cuMemsetD32(device + 32, 0x44556677, 2));
    CUDA_OK(cuMemcpyDtoH(target, device, 64));
    static const uint8_t expected[] = {0x33, 0x22, 0x33, 0x22, 0x33, 0x22, 0x33, 0x22};
    static const uint8_t words[] = {0x77, 0x66, 0x55, 0x44, 0x77, 0x66, 0x55, 0x44};
    assert_memory_equal(target + 16, expected, 8);
    assert_memory_equal(target + 32, words, 8);
    assert_int_equal(target[0], 0x11);
    assert_int_equal(target[40], 0x11);
    assert_int_equal(cuMemsetD16(device + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
    CUDA_OK(cuMemFree(device));
}

UNIT_TEST(pointers_are_known_for_what_they_are)
{
    void *device, *pinned, *managed;
    int unknown;
    CUDA_OK(cudaMalloc(&device, 100));
    CUDA_OK(cudaMallocHost(&pinned, 100));
    CUDA_OK(cudaMallocManaged(&managed, 100, cudaMemAttachGlobal));
    CUDA_OK(cudaHostRegister(source, BYTES, 0));
    const struct {
        const void *pointer;
        enum cudaMemoryType type;
    } expected[] = {{device, cudaMemoryTypeDevice},   {(char *)device + 99, cudaMemoryTypeDevice},
                    {pinned, cudaMemoryTypeHost},     {managed, cudaMemoryTypeManaged},
                    {source + 5, cudaMemoryTypeHost}, {&unknown, cudaMemoryTypeUnregistered}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct cudaPointerAttributes attributes;
        CUDA_OK(cudaPointerGetAttributes(&attributes, expected[i].pointer));
        assert_int_equal(attributes.type, expected[i].type);
    }
    assert_int_equal(cudaHostRegister(source, 10, 0), cudaErrorHostMemoryAlreadyRegistered);
    CUDA_OK(cudaHostUnregister(source));
    assert_int_equal(cudaHostUnregister(source), cudaErrorHostMemoryNotRegistered);
    CUDA_OK(cudaFree(device));
    CUDA_OK(cudaFreeHost(pinned));
    CUDA_OK(cudaFree(managed));
}

UNIT_TEST(what_is_not_allocated_cannot_be_freed)
{
    void *device;
    CUDA_OK(cudaMalloc(&device, 100));
    assert_int_equal(cudaFree((char *)device + 1), cudaErrorInvalidValue);
    assert_int_equal(cudaFreeHost(device), cudaErrorInvalidValue);
    CUDA_OK(cudaFree(device));
    assert_int_equal(cudaFree(device), cudaErrorInvalidValue);
    CUDA_OK(cudaFree(NULL));
}

UNIT_TEST(a_device_has_no_more_than_it_has)
{
    size_t before, after, total;
    void *most, *more;
    CUDA_OK(cudaMemGetInfo(&before, &total));
    assert_int_equal(total, (size_t)16 << 30);
    CUDA_OK(cudaMalloc(&most, before - 1000)); /* costs nothing that is not touched */
    CUDA_OK(cudaMemGetInfo(&after, &total));
    assert_int_equal(after, 1000);
    assert_int_equal(cudaMalloc(&more, 1001), cudaErrorMemoryAllocation);
    CUDA_OK(cudaSetDevice(1));
    CUDA_OK(cudaMalloc(&more, 1001)); /* another device has its own */
    CUDA_OK(cudaFree(more));
    CUDA_OK(cudaSetDevice(0));
    CUDA_OK(cudaFree(most));
    CUDA_OK(cudaMemGetInfo(&after, &total));
    assert_int_equal(after, before);
}

UNIT_TEST(memory_freed_in_a_stream_is_there_until_the_stream_gets_there)
{
    void *device, *pinned;
    CUDA_OK(cudaMallocHost(&pinned, BYTES));
    CUDA_OK(cudaMallocAsync(&device, BYTES, NULL));
    CUDA_OK(cudaMemcpyAsync(device, source, BYTES, cudaMemcpyHostToDevice, NULL));
    CUDA_OK(cudaMemcpyAsync(pinned, device, BYTES, cudaMemcpyDeviceToHost, NULL));
    CUDA_OK(cudaFreeAsync(device, NULL));
    CUDA_OK(cudaStreamSynchronize(NULL));
    assert_memory_equal(pinned, source, BYTES);
    CUDA_OK(cudaFreeHost(pinned));
}

UNIT_TEST(pools_count_what_is_taken_from_them)
{
    const struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
                                                .location = {.type = cudaMemLocationTypeDevice, .id = 0},
                                                .maxSize = 10000};
    cudaMemPool_t pool;
    void *memory, *more;
    uint64_t used;
    CUDA_OK(cudaMemPoolCreate(&pool, &properties));
    CUDA_OK(cudaMallocFromPoolAsync(&memory, 6000, pool, NULL));
    CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    assert_int_equal(used, 6000);
    assert_int_equal(cudaMallocFromPoolAsync(&more, 6000, pool, NULL), cudaErrorMemoryAllocation);
    CUDA_OK(cudaFreeAsync(memory, NULL));
    CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    assert_int_equal(used, 0);
    CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
    assert_int_equal(used, 6000);
    CUDA_OK(cudaStreamSynchronize(NULL));
    CUDA_OK(cudaMemPoolDestroy(pool));
}

static uint64_t reserved_of(cudaMemPool_t pool)
{
    uint64_t reserved;
    CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    return reserved;
}

UNIT_TEST(pools_hold_more_than_is_used_until_the_device_is_waited_for)
{
    const struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
                                                .location = {.type = cudaMemLocationTypeDevice, .id = 0}};
    cudaMemPool_t pool;
    void *memory;
    uint64_t threshold = 40 << 20;
    CUDA_OK(cudaMemPoolCreate(&pool, &properties));
    assert_int_equal(reserved_of(pool), 0);
    CUDA_OK(cudaMallocFromPoolAsync(&memory, 65 << 20, pool, NULL));
    assert_int_equal(reserved_of(pool), 96 << 20);
    CUDA_OK(cudaFreeAsync(memory, NULL));
    assert_int_equal(reserved_of(pool), 96 << 20);
    CUDA_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CUDA_OK(cudaStreamSynchronize(NULL));
    assert_int_equal(reserved_of(pool), 64 << 20);
    CUDA_OK(cudaMemPoolTrimTo(pool, 0));
    assert_int_equal(reserved_of(pool), 0);
    CUDA_OK(cudaMemPoolDestroy(pool));
}

UNIT_TEST_WITH(peers_get_each_others_bytes, clean_target, NULL)
{
    void *here, *there;
    CUDA_OK(cudaMalloc(&here, BYTES));
    CUDA_OK(cudaSetDevice(1));
    CUDA_OK(cudaMalloc(&there, BYTES));
    CUDA_OK(cudaMemcpy(there, source, BYTES, cudaMemcpyHostToDevice));
    CUDA_OK(cudaSetDevice(0));
    int can;
    CUDA_OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 1);
    CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
    assert_int_equal(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    CUDA_OK(cudaMemcpyPeer(here, 0, there, 1, BYTES));
    CUDA_OK(cudaMemcpy(target, here, BYTES, cudaMemcpyDeviceToHost));
    assert_memory_equal(source, target, BYTES);
    CUDA_OK(cudaFree(here));
    CUDA_OK(cudaFree(there));
}

UNIT_TEST_WITH(memory_can_be_mapped_at_two_addresses, clean_target, NULL)
{
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr range;
    size_t granularity, before, after, total;
    CUDA_OK(cudaMemGetInfo(&before, &total));
    CUDA_OK(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    assert_int_equal(granularity, GRANULARITY);
    CUDA_OK(cuMemAddressReserve(&range, 2 * GRANULARITY, 0, 0, 0));
    CUDA_OK(cuMemCreate(&handle, GRANULARITY, &properties, 0));
    CUDA_OK(cuMemMap(range, GRANULARITY, 0, handle, 0));
    CUDA_OK(cuMemMap(range + GRANULARITY, GRANULARITY, 0, handle, 0));
    CUDA_OK(cuMemRelease(handle)); /* the mappings hold it */
    CUDA_OK(cuMemSetAccess(range, 2 * GRANULARITY, &access, 1));
    CUDA_OK(cuMemcpyHtoD(range + 100, source, 1000));
    CUDA_OK(cuMemcpyDtoH(target, range + GRANULARITY + 100, 1000));
    assert_memory_equal(target, source, 1000);
    CUDA_OK(cudaMemGetInfo(&after, &total));
    assert_int_equal(before - after, GRANULARITY);
    CUDA_OK(cuMemUnmap(range, 2 * GRANULARITY));
    CUDA_OK(cuMemAddressFree(range, 2 * GRANULARITY));
    CUDA_OK(cudaMemGetInfo(&after, &total));
    assert_int_equal(after, before);
}

UNIT_TEST_WITH(a_module_has_what_its_ptx_says, clean_target, NULL)
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr table;
    size_t size;
    CUDA_OK(cuModuleLoadData(&module, recording_ptx));
    CUDA_OK(cuModuleGetFunction(&function, module, "second"));
    assert_int_equal(cuModuleGetFunction(&function, module, "third"), CUDA_ERROR_NOT_FOUND);
    CUDA_OK(cuModuleGetGlobal(&table, &size, module, "table"));
    assert_int_equal(size, 64);
    CUDA_OK(cuMemcpyHtoD(table, source, 64));
    CUDA_OK(cuMemcpyDtoH(target, table, 64));
    assert_memory_equal(source, target, 64);
    CUDA_OK(cuModuleUnload(module));
    assert_int_equal(cuModuleLoadData(&module, "\1 this is not an image"), CUDA_ERROR_INVALID_IMAGE);
}

UNIT_MAIN(start, NULL)
