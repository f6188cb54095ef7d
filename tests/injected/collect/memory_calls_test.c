#include "injected/collect/memory_calls.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>

#include "wire/spool.h"

static struct memory_event read_call(CUpti_CallbackId cbid, const void *parameters, int32_t result, CUstream *stream)
{
    const struct memory_call *call = memory_call_find(cbid);
    assert_non_null(call);
    struct memory_event event = {.result = result, .operation = call->operation, .kind = call->kind};
    CUstream unused;
    call->read(parameters, &event, stream ? stream : &unused);
    return event;
}

static void allocations_tell_address_and_size(void **state)
{
    (void)state;
    CUdeviceptr address = 0x1000;
    cuMemAlloc_v2_params parameters = {.dptr = &address, .bytesize = 256};
    struct memory_event event = read_call(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &parameters, 0, NULL);
    assert_int_equal(event.address, 0x1000);
    assert_int_equal(event.size, 256);
    assert_int_equal(event.kind, SPOOL_MEMORY_DEVICE);
    assert_int_equal(event.operation, SPOOL_MEMORY_ALLOCATE);
}

static void a_failed_allocation_reads_no_output(void **state)
{
    (void)state;
    cuMemAlloc_v2_params device = {.dptr = NULL, .bytesize = 256};
    struct memory_event event = read_call(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &device, 2, NULL);
    assert_int_equal(event.address, 0);
    assert_int_equal(event.size, 256);
    cuMemHostAlloc_params host = {.pp = NULL, .bytesize = 64};
    event = read_call(CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc, &host, 2, NULL);
    assert_int_equal(event.address, 0);
    cuMemAllocPitch_v2_params pitched = {.WidthInBytes = 100, .Height = 3};
    event = read_call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2, &pitched, 2, NULL);
    assert_int_equal(event.size, 300);
}

static void pitched_memory_counts_the_pitch(void **state)
{
    (void)state;
    CUdeviceptr address = 0x2000;
    size_t pitch = 512;
    cuMemAllocPitch_v2_params parameters = {&address, &pitch, 100, 10, 4};
    struct memory_event event = read_call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2, &parameters, 0, NULL);
    assert_int_equal(event.size, 5120);
}

static void stream_ordered_memory_tells_stream_and_pool(void **state)
{
    (void)state;
    CUdeviceptr address = 0x3000;
    CUstream stream = NULL;
    cuMemAllocFromPoolAsync_params parameters = {&address, 4096, (CUmemoryPool)0x77, (CUstream)0x99};
    struct memory_event event = read_call(CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync, &parameters, 0, &stream);
    assert_int_equal(event.pool, 0x77);
    assert_ptr_equal(stream, (CUstream)0x99);
    assert_int_equal(event.kind, SPOOL_MEMORY_POOL);
    cuMemFreeAsync_params release = {0x3000, (CUstream)0x98};
    event = read_call(CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync, &release, 0, &stream);
    assert_int_equal(event.address, 0x3000);
    assert_ptr_equal(stream, (CUstream)0x98);
    assert_int_equal(event.operation, SPOOL_MEMORY_RELEASE);
    assert_int_equal(event.kind, SPOOL_MEMORY_UNKNOWN);
}

static void arrays_count_their_texels(void **state)
{
    (void)state;
    CUarray array = (CUarray)0x10;
    CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = 64, .Height = 32, .Depth = 0, .NumChannels = 4};
    shape.Format = CU_AD_FORMAT_FLOAT;
    cuArray3DCreate_v2_params parameters = {&array, &shape};
    struct memory_event event = read_call(CUPTI_DRIVER_TRACE_CBID_cuArray3DCreate_v2, &parameters, 0, NULL);
    assert_int_equal(event.size, 64 * 32 * 4 * 4);
    assert_int_equal(event.address, 0x10);
    shape.NumChannels = 1;
    CUmipmappedArray levels = (CUmipmappedArray)0x20;
    cuMipmappedArrayCreate_params mipmapped = {&levels, &shape, 3};
    event = read_call(CUPTI_DRIVER_TRACE_CBID_cuMipmappedArrayCreate, &mipmapped, 0, NULL);
    assert_int_equal(event.size, (64 * 32 + 32 * 16 + 16 * 8) * 4);
}

static void virtual_memory_is_of_the_device_it_lies_on(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle = 5;
    CUmemAllocationProp where = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 3}};
    cuMemCreate_params parameters = {&handle, 2 << 20, &where, 0};
    struct memory_event event = read_call(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &parameters, 0, NULL);
    assert_int_equal(event.device, 3);
    assert_int_equal(event.address, 5);
    where.location.type = CU_MEM_LOCATION_TYPE_HOST;
    event = read_call(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &parameters, 0, NULL);
    assert_int_equal(event.device, SPOOL_NO_DEVICE);
}

static void every_call_is_listed_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < memory_call_count; i++)
        assert_ptr_equal(memory_call_find(memory_calls[i].cbid), &memory_calls[i]);
    assert_null(memory_call_find(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_tell_address_and_size),
        cmocka_unit_test(a_failed_allocation_reads_no_output),
        cmocka_unit_test(pitched_memory_counts_the_pitch),
        cmocka_unit_test(stream_ordered_memory_tells_stream_and_pool),
        cmocka_unit_test(arrays_count_their_texels),
        cmocka_unit_test(virtual_memory_is_of_the_device_it_lies_on),
        cmocka_unit_test(every_call_is_listed_once),
    };
    return cmocka_run_group_tests_name("collect/memory_calls", tests, NULL, NULL);
}
