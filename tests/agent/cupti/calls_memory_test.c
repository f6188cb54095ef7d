#include "agent/cupti/calls_memory.h"
#include "agent/cupti/driver_calls.h"
#include "tests/agent/cupti/hearing.h"
#include "tests/unit.h"

static const CUstream stream = (CUstream)0x52;

/* CALL is made as done with OUT as its output, then as failed with none. */
#define ALLOCATES(function, out_type, out_field, out_value, memory_kind, expected_bytes, failed_bytes, ...) \
    do {                                                                                                    \
        out_type out = (out_type)out_value;                                                                 \
        function##_params p = {.out_field = &out, __VA_ARGS__};                                             \
        const struct gputrace_memory_allocation *done = HEAR(memory_allocation, function, &p, 0);           \
        assert_int_equal(done->address, out_value);                                                         \
        assert_int_equal(done->bytes, expected_bytes);                                                      \
        assert_int_equal(done->kind, GPUTRACE_MEMORY_##memory_kind);                                        \
        p.out_field = NULL;                                                                                 \
        const struct gputrace_memory_allocation_failure *failed =                                           \
            HEAR(memory_allocation_failure, function, &p, CUDA_ERROR_OUT_OF_MEMORY);                        \
        assert_int_equal(failed->bytes, failed_bytes);                                                      \
        assert_int_equal(failed->kind, GPUTRACE_MEMORY_##memory_kind);                                      \
    } while (0)

UNIT_TEST(allocations_tell_address_bytes_and_kind)
{
    ALLOCATES(cuMemAlloc_v2, CUdeviceptr, dptr, 0x1000, DEVICE, 256, 256, .bytesize = 256);
    ALLOCATES(cuMemAllocManaged, CUdeviceptr, dptr, 0x1000, MANAGED, 64, 64, .bytesize = 64);
    ALLOCATES(cuMemHostAlloc, void *, pp, 0x3000, PINNED, 32, 32, .bytesize = 32);
    ALLOCATES(cuMemAllocHost_v2, void *, pp, 0x3000, PINNED, 16, 16, .bytesize = 16);
    ALLOCATES(cuMemCreate, CUmemGenericAllocationHandle, handle, 5, VIRTUAL, 2 << 20, 2 << 20, .size = 2 << 20);
    size_t pitch = 512; /* the driver's; of a failed call, only the width is known */
    ALLOCATES(cuMemAllocPitch_v2, CUdeviceptr, dptr, 0x2000, DEVICE, 5120, 1000, .pPitch = &pitch, .WidthInBytes = 100,
              .Height = 10);
}

UNIT_TEST(arrays_count_their_texels)
{
    CUDA_ARRAY_DESCRIPTOR flat = {.Width = 10, .Height = 3, .NumChannels = 2, .Format = CU_AD_FORMAT_HALF};
    ALLOCATES(cuArrayCreate_v2, CUarray, pHandle, 0x10, ARRAY, 120, 120, .pAllocateArray = &flat);
    CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = 64, .Height = 32, .NumChannels = 4, .Format = CU_AD_FORMAT_FLOAT};
    ALLOCATES(cuArray3DCreate_v2, CUarray, pHandle, 0x10, ARRAY, 64 * 32 * 16, 64 * 32 * 16, .pAllocateArray = &shape);
    shape.NumChannels = 1;
    const uint64_t three = (64 * 32 + 32 * 16 + 16 * 8) * 4;
    ALLOCATES(cuMipmappedArrayCreate, CUmipmappedArray, pHandle, 0x20, ARRAY, three, three,
              .pMipmappedArrayDesc = &shape, .numMipmapLevels = 3);
}

UNIT_TEST(host_memory_is_on_no_device)
{
    void *out = (void *)0x3000;
    cuMemHostAlloc_params p = {&out, 8, 0};
    assert_int_equal(HEAR(memory_allocation, cuMemHostAlloc, &p, 0)->call.device, GPUTRACE_NO_DEVICE);
    CUdeviceptr address = 0x1000;
    cuMemAlloc_v2_params device = {&address, 8};
    assert_int_equal(HEAR(memory_allocation, cuMemAlloc_v2, &device, 0)->call.device, FAKE_DEVICE);
    assert_int_equal(HEAR(memory_allocation, cuMemAlloc_v2, &device, 0)->stream_id, GPUTRACE_NO_STREAM);
}

UNIT_TEST(registered_memory_is_the_programs)
{
#define CHECK(function)                                                                                             \
    do {                                                                                                            \
        function##_params p = {(void *)0x7000, 4096, 0};                                                            \
        const struct gputrace_memory_allocation *done = HEAR(memory_allocation, function, &p, 0);                   \
        assert_int_equal(done->address, 0x7000);                                                                    \
        assert_int_equal(done->bytes, 4096);                                                                        \
        assert_int_equal(done->kind, GPUTRACE_MEMORY_REGISTERED);                                                   \
        assert_int_equal(done->call.device, GPUTRACE_NO_DEVICE);                                                    \
        assert_int_equal(                                                                                           \
            HEAR(memory_allocation_failure, function, &p, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)->bytes, 4096); \
    } while (0)
    CHECK(cuMemHostRegister);
    CHECK(cuMemHostRegister_v2);
#undef CHECK
}

UNIT_TEST(virtual_memory_is_of_the_device_it_lies_on)
{
    CUmemGenericAllocationHandle handle = 5;
    CUmemAllocationProp where = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
    cuMemCreate_params p = {&handle, 2 << 20, &where, 0};
    make_call(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &p, 0);
    const struct gputrace_memory_allocation *done = heard_what(REGISTRY_memory_allocation, 0);
    assert_int_equal(done->call.device, 1);
    where.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    assert_int_equal(HEAR(memory_allocation, cuMemCreate, &p, 0)->call.device, GPUTRACE_NO_DEVICE);
}

UNIT_TEST(stream_ordered_memory_tells_stream_and_pool)
{
#define CHECK(function, per_thread)                                                               \
    do {                                                                                          \
        CUdeviceptr out = 0x3000;                                                                 \
        function##_params p = {.dptr = &out, .bytesize = 4096, .hStream = stream};                \
        const struct gputrace_memory_allocation *done = HEAR(memory_allocation, function, &p, 0); \
        assert_int_equal(done->address, 0x3000);                                                  \
        assert_int_equal(done->kind, GPUTRACE_MEMORY_POOL);                                       \
        assert_ptr_equal(done->stream, stream);                                                   \
        assert_int_equal(done->stream_id, 0x52);                                                  \
        p.hStream = NULL;                                                                         \
        p.dptr = NULL;                                                                            \
        const struct gputrace_memory_allocation_failure *failed =                                 \
            HEAR(memory_allocation_failure, function, &p, CUDA_ERROR_OUT_OF_MEMORY);              \
        assert_ptr_equal(failed->stream, default_stream(per_thread));                             \
        assert_int_equal(failed->stream_id, 7 + per_thread);                                      \
        unsigned asked = fake_asked.streams;                                                      \
        HEAR(memory_allocation_failure, function, &p, CUDA_ERROR_INVALID_HANDLE);                 \
        assert_int_equal(fake_asked.streams, asked); /* of a handle that may be none */           \
    } while (0)
    PLAIN_AND_PTSZ(CHECK, cuMemAllocAsync);
    PLAIN_AND_PTSZ(CHECK, cuMemAllocFromPoolAsync);
#undef CHECK
    CUdeviceptr out = 0x3000;
    cuMemAllocFromPoolAsync_params p = {&out, 4096, (CUmemoryPool)0x77, stream};
    assert_int_equal(HEAR(memory_allocation, cuMemAllocFromPoolAsync, &p, 0)->pool, 0x77);
    assert_int_equal(HEAR(memory_allocation_failure, cuMemAllocFromPoolAsync, &p, 2)->pool, 0x77);
}

#define FREES(function, memory_kind, type, value, ...)                                                       \
    do {                                                                                                     \
        function##_params p = {(type)value, ##__VA_ARGS__};                                                  \
        const struct gputrace_memory_deallocation *freed = HEAR(memory_deallocation, function, &p, 0);       \
        assert_int_equal(freed->address, value);                                                             \
        assert_int_equal(freed->kind, GPUTRACE_MEMORY_##memory_kind);                                        \
        assert_int_equal(HEAR(memory_deallocation, function, &p, CUDA_ERROR_INVALID_VALUE)->address, value); \
        memset(&p, 0, sizeof(p));                                                                            \
        make_call(CUPTI_DRIVER_TRACE_CBID_##function, &p, 0);                                                \
        assert_int_equal(heard_in_all(), 0); /* freeing NULL does nothing */                                 \
    } while (0)

UNIT_TEST(deallocations_tell_the_address)
{
    FREES(cuMemFree_v2, UNKNOWN, CUdeviceptr, 0x1000);
    FREES(cuMemFreeHost, PINNED, void *, 0x3000);
    FREES(cuMemHostUnregister, REGISTERED, void *, 0x7000);
    FREES(cuArrayDestroy, ARRAY, CUarray, 0x10);
    FREES(cuMipmappedArrayDestroy, ARRAY, CUmipmappedArray, 0x20);
    FREES(cuMemRelease, VIRTUAL, CUmemGenericAllocationHandle, 5);
    FREES(cuMemFreeAsync, UNKNOWN, CUdeviceptr, 0x1000, stream);
    FREES(cuMemFreeAsync_ptsz, UNKNOWN, CUdeviceptr, 0x1000, stream);
    cuMemFreeAsync_params p = {0x1000, stream};
    assert_int_equal(HEAR(memory_deallocation, cuMemFreeAsync, &p, 0)->stream_id, 0x52);
    cuMemFreeAsync_ptsz_params own = {0x1000, NULL};
    const struct gputrace_memory_deallocation *freed = HEAR(memory_deallocation, cuMemFreeAsync_ptsz, &own, 0);
    assert_ptr_equal(freed->stream, CU_STREAM_PER_THREAD);
    assert_int_equal(freed->stream_id, 8);
}

UNIT_TEST(mapping_tells_addresses_and_memory)
{
    cuMemMap_params map = {0x10000, 4096, 64, 5, 0};
    const struct gputrace_memory_mapping *mapped = HEAR(memory_mapping, cuMemMap, &map, 0);
    assert_int_equal(mapped->address, 0x10000);
    assert_int_equal(mapped->bytes, 4096);
    assert_int_equal(mapped->offset, 64);
    assert_int_equal(mapped->handle, 5);
    HEAR(memory_mapping, cuMemMap, &map, CUDA_ERROR_INVALID_VALUE);
    cuMemUnmap_params unmap = {0x10000, 4096};
    const struct gputrace_memory_unmapping *unmapped = HEAR(memory_unmapping, cuMemUnmap, &unmap, 0);
    assert_int_equal(unmapped->address, 0x10000);
    assert_int_equal(unmapped->bytes, 4096);
    HEAR(memory_unmapping, cuMemUnmap, &unmap, CUDA_ERROR_INVALID_VALUE);
}

UNIT_TEST(every_row_was_called)
{
    hearing_covers(&memory_calls, REGISTRY_BIT(memory_allocation) | REGISTRY_BIT(memory_deallocation) |
                                      REGISTRY_BIT(memory_mapping) | REGISTRY_BIT(memory_unmapping));
}

/* --- how much memory an array takes --- */

UNIT_TEST(texels_are_counted)
{
    CUDA_ARRAY_DESCRIPTOR flat = {.Width = 10, .Height = 0, .NumChannels = 2, .Format = CU_AD_FORMAT_HALF};
    assert_int_equal(array_bytes_2d(&flat), 40);
    CUDA_ARRAY3D_DESCRIPTOR box = {
        .Width = 4, .Height = 3, .Depth = 2, .NumChannels = 1, .Format = CU_AD_FORMAT_UNSIGNED_INT8};
    assert_int_equal(array_bytes_3d(&box), 24);
    box.Format = CU_AD_FORMAT_BC1_UNORM; /* at least a byte each */
    assert_int_equal(array_bytes_3d(&box), 24);
    assert_int_equal(array_bytes_2d(NULL) + array_bytes_3d(NULL) + array_bytes_mipmapped(NULL, 3), 0);
}

UNIT_TEST(levels_halve_down_to_one_texel)
{
    CUDA_ARRAY3D_DESCRIPTOR box = {
        .Width = 4, .Height = 4, .Depth = 4, .NumChannels = 1, .Format = CU_AD_FORMAT_UNSIGNED_INT8};
    assert_int_equal(array_bytes_mipmapped(&box, 1), 64);
    assert_int_equal(array_bytes_mipmapped(&box, 0), 64); /* the driver makes one at least */
    assert_int_equal(array_bytes_mipmapped(&box, 3), 64 + 8 + 1);
    assert_int_equal(array_bytes_mipmapped(&box, 99), 64 + 8 + 1);
}

UNIT_TEST(layers_do_not_halve)
{
    CUDA_ARRAY3D_DESCRIPTOR layered = {.Width = 4,
                                       .Height = 4,
                                       .Depth = 6,
                                       .NumChannels = 1,
                                       .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                       .Flags = CUDA_ARRAY3D_LAYERED};
    assert_int_equal(array_bytes_mipmapped(&layered, 9), 6 * (16 + 4 + 1));
}

UNIT_MAIN(hearing_start, NULL)
