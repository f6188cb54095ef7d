/* CUPTI's activity records of calls, kernels, copies, sets, memory and synchronisation. */
#include "tests/unit.h"

#include "recording.h"

/* CUPTI heeds a function's switch only if it was on when the first context was made. */
UNIT_FIXTURE(start)
{
    cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, 1);
    cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, 1);
    int failed = recording_start_warm(1 << 16);
    cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, 0);
    cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, 0);
    return failed;
}

UNIT_FIXTURE(clear)
{
    recording_clear();
    return 0;
}

#define KINDS(...) recording_enable((const CUpti_ActivityKind[]){__VA_ARGS__, (CUpti_ActivityKind)0})

UNIT_TEST_WITH(a_kernel_has_its_launch_s_correlation_and_comes_after_it, NULL, clear)
{
    KINDS(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME);
    recording_kernel();
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    const CUpti_ActivityAPI *launch =
        recording_api(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    const CUpti_ActivityAPI *wait =
        recording_api(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020);
    const CUpti_ActivityKernel10 *kernel = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    assert_non_null(launch);
    assert_non_null(wait);
    assert_non_null(kernel);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
    assert_int_equal(kernel->correlationId, launch->correlationId);
    assert_true(launch->start <= launch->end);
    assert_true(launch->start < kernel->start);
    assert_true(kernel->start < kernel->end);
    assert_true(kernel->end <= wait->end);
    assert_string_equal(kernel->name, "_Z16recording_kernelv");
    assert_int_equal(kernel->gridX, 4);
    assert_int_equal(kernel->blockX, 64);
    assert_int_equal(kernel->contextId, 1);
    assert_int_equal(kernel->streamId, 7);
    assert_int_equal(launch->processId, getpid());
    assert_int_equal(launch->threadId, gettid());
    assert_int_equal(launch->returnValue, 0);
}

UNIT_TEST_WITH(driver_kind_records_nested_calls_and_an_id_only_the_program_s, NULL, clear)
{
    KINDS(CUPTI_ACTIVITY_KIND_DRIVER);
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    assert_non_null(recording_api(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2));
    recording_clear();

    CUDA_OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, 1));
    CUDA_OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, 1));
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_DRIVER), 0);
    CUDA_OK(cuCtxSynchronize());
    recording_flush(false);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_DRIVER), 1);
    CUDA_OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, 0));
    CUDA_OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, 0));
}

UNIT_TEST_WITH(a_function_is_not_heeded_that_was_off_when_the_first_context_was_made, NULL, clear)
{
    CUDA_OK(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, 1));
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_RUNTIME), 0);
}

UNIT_TEST_WITH(copies_tell_their_direction_size_and_kinds_of_memory, NULL, clear)
{
    KINDS(CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET);
    char pageable[4096] = {0};
    void *device, *pinned;
    CUDA_OK(cudaMalloc(&device, 4096));
    CUDA_OK(cudaMallocHost(&pinned, 4096));
    CUDA_OK(cudaMemcpy(device, pageable, 4096, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpyAsync(pinned, device, 1000, cudaMemcpyDeviceToHost, NULL));
    CUDA_OK(cudaMemset(device, 5, 100));
    CUDA_OK(cudaFree(device));
    CUDA_OK(cudaFreeHost(pinned));
    recording_flush(false);

    const CUpti_ActivityMemcpy6 *up = recording_get(CUPTI_ACTIVITY_KIND_MEMCPY, 0);
    const CUpti_ActivityMemcpy6 *down = recording_get(CUPTI_ACTIVITY_KIND_MEMCPY, 1);
    const CUpti_ActivityMemset4 *set = recording_get(CUPTI_ACTIVITY_KIND_MEMSET, 0);
    assert_non_null(up);
    assert_non_null(down);
    assert_non_null(set);
    assert_int_equal(up->copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    assert_int_equal(up->srcKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
    assert_int_equal(up->dstKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    assert_int_equal(up->bytes, 4096);
    assert_int_equal(up->flags, 0);
    assert_int_equal(up->copyCount, 1);
    assert_int_equal(down->copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
    assert_int_equal(down->dstKind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    assert_int_equal(down->flags, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
    assert_int_equal(set->value, 5);
    assert_int_equal(set->bytes, 100);
    assert_true(up->end <= down->start);
    assert_true(down->end <= set->start);
}

UNIT_TEST_WITH(memory_is_recorded_when_taken_and_when_given_back, NULL, clear)
{
    KINDS(CUPTI_ACTIVITY_KIND_MEMORY2);
    void *device, *managed, *async, *refused;
    CUDA_OK(cudaMalloc(&device, 1000));
    CUDA_OK(cudaMallocManaged(&managed, 2000, cudaMemAttachGlobal));
    CUDA_OK(cudaMallocAsync(&async, 3000, NULL));
    assert_int_equal(cudaMalloc(&refused, (size_t)1 << 60), cudaErrorMemoryAllocation);
    CUDA_OK(cudaFree(device));
    CUDA_OK(cudaFree(managed));
    CUDA_OK(cudaFreeAsync(async, NULL));
    recording_flush(false);

    static const struct {
        CUpti_ActivityMemoryKind kind;
        uint64_t bytes;
        bool async;
    } expected[] = {{CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 1000, false},
                    {CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, 2000, false},
                    {CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 3000, true}};
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_MEMORY2), 6);
    for (size_t i = 0; i < 3; i++) {
        const CUpti_ActivityMemory4 *taken = recording_get(CUPTI_ACTIVITY_KIND_MEMORY2, i);
        const CUpti_ActivityMemory4 *given = recording_get(CUPTI_ACTIVITY_KIND_MEMORY2, i + 3);
        assert_int_equal(taken->memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
        assert_int_equal(given->memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
        assert_int_equal(taken->address, given->address);
        assert_int_equal(taken->bytes, expected[i].bytes);
        assert_int_equal(given->bytes, expected[i].bytes);
        assert_int_equal(taken->memoryKind, expected[i].kind);
        assert_int_equal(taken->isAsync, expected[i].async);
        if (expected[i].async) {
            assert_int_equal(taken->streamId, 7);
            assert_int_equal(taken->memoryPoolConfig.memoryPoolType, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
            assert_int_equal(taken->memoryPoolConfig.utilizedSize, 3000);
            assert_int_equal(taken->memoryPoolConfig.pool.size, 32 << 20);
            assert_int_equal(given->memoryPoolConfig.utilizedSize, 0);
        }
    }
}

UNIT_TEST_WITH(synchronisation_records_say_who_waited_for_what, NULL, clear)
{
    KINDS(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_CUDA_EVENT);
    CUDA_OK(cuptiActivityEnableCudaEventDeviceTimestamps(1));
    cudaStream_t stream;
    cudaEvent_t event;
    CUDA_OK(cudaStreamCreate(&stream));
    CUDA_OK(cudaEventCreate(&event));
    CUDA_OK(cudaEventRecord(event, NULL));
    CUDA_OK(cudaStreamWaitEvent(stream, event, 0));
    CUDA_OK(cudaEventSynchronize(event));
    CUDA_OK(cudaStreamSynchronize(stream));
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    uint32_t id;
    CUDA_OK(cuptiGetStreamIdEx(NULL, stream, 0, &id));
    static const CUpti_ActivitySynchronizationType types[] = {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
                                                              CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE,
                                                              CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
                                                              CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE};
    const CUpti_ActivityCudaEvent2 *recorded = recording_get(CUPTI_ACTIVITY_KIND_CUDA_EVENT, 0);
    assert_non_null(recorded);
    assert_int_equal(recorded->streamId, 7);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), 4);
    for (size_t i = 0; i < 4; i++) {
        const CUpti_ActivitySynchronization2 *sync = recording_get(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, i);
        assert_int_equal(sync->type, types[i]);
        assert_true(sync->start <= sync->end);
        bool of_event = i < 2;
        assert_int_equal(sync->cudaEventId, of_event ? recorded->eventId : CUPTI_SYNCHRONIZATION_INVALID_VALUE);
        if (of_event)
            assert_int_equal(sync->cudaEventSyncId, recorded->cudaEventSyncId);
        bool of_stream = i == 0 || i == 2;
        assert_int_equal(sync->streamId, of_stream ? id : CUPTI_SYNCHRONIZATION_INVALID_VALUE);
    }
    const CUpti_ActivitySynchronization2 *waited = recording_get(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 1);
    assert_true(recorded->deviceTimestamp <= waited->end);
    assert_true(recorded->deviceTimestamp + 1000000000 > waited->end);
    CUDA_OK(cudaEventDestroy(event));
    CUDA_OK(cudaStreamDestroy(stream));
}

UNIT_TEST_WITH(things_are_recorded_when_made, NULL, clear)
{
    KINDS(CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM);
    CUcontext context;
    CUstream stream;
    CUDA_OK(cuCtxCreate_v4(&context, NULL, 0, 0));
    CUDA_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    recording_flush(false);
    const CUpti_ActivityDevice5 *device = recording_get(CUPTI_ACTIVITY_KIND_DEVICE, 0);
    const CUpti_ActivityContext3 *made = recording_get(CUPTI_ACTIVITY_KIND_CONTEXT, 0);
    const CUpti_ActivityStream *own = recording_get(CUPTI_ACTIVITY_KIND_STREAM, 1);
    assert_non_null(device);
    assert_string_equal(device->name, "Simulated GPU");
    assert_non_null(made);
    assert_int_equal(made->deviceId, 0);
    assert_non_null(own);
    assert_int_equal(own->contextId, made->contextId);
    assert_int_equal(own->flag, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING);
    CUDA_OK(cuStreamDestroy(stream));
    CUDA_OK(cuCtxDestroy(context));
}

UNIT_TEST_WITH(external_correlation_goes_before_the_call_s_record, NULL, clear)
{
    KINDS(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_RUNTIME);
    CUDA_OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 4711));
    recording_kernel();
    uint64_t last = 0;
    CUDA_OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last));
    assert_int_equal(last, 4711);
    assert_int_equal(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last),
                     CUPTI_ERROR_QUEUE_EMPTY);
    recording_kernel();
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    const CUpti_ActivityExternalCorrelation *record = recording_get(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0);
    assert_non_null(record);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), 1);
    assert_int_equal(record->externalId, 4711);
    assert_int_equal(
        record->correlationId,
        recording_api(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000)->correlationId);
}

UNIT_TEST_WITH(a_query_that_finds_work_is_recorded_only_when_all_are, NULL, clear)
{
    KINDS(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    cudaStream_t stream;
    cudaEvent_t event;
    CUDA_OK(cudaStreamCreate(&stream));
    CUDA_OK(cudaEventCreate(&event));
    void *memory;
    CUDA_OK(cudaMalloc(&memory, 1 << 20));
    for (int all = 1; all >= 0; all--) {
        CUDA_OK(cuptiActivityEnableAllSyncRecords((uint8_t)all));
        size_t before = recording_count(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
        for (int i = 0; i < 2000; i++) /* some ms of work */
            CUDA_OK(cudaMemsetAsync(memory, i, 1 << 20, stream));
        assert_int_equal(cudaStreamQuery(stream), cudaErrorNotReady);
        recording_flush(false);
        assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) - before, all);
        CUDA_OK(cudaStreamSynchronize(stream));
        recording_flush(false);
    }
    CUDA_OK(cudaFree(memory));
    CUDA_OK(cudaEventDestroy(event));
    CUDA_OK(cudaStreamDestroy(stream));
    CUDA_OK(cuptiActivityEnableAllSyncRecords(1));
}

UNIT_MAIN(start, NULL)
