/* Order: streams run their work one after the other and beside each other, and wait for events. */
#include "tests/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "recording.h"

/* Long enough for the launches that have to be made meanwhile, on a busy machine too. */
enum { KERNEL_NS = 20000000 };

UNIT_FIXTURE(start)
{
    setenv("SIMGPU_KERNEL_NS", "20000000", 1);
    return recording_start_warm(1 << 16);
}

UNIT_FIXTURE(clear)
{
    cudaDeviceSynchronize();
    recording_clear();
    return 0;
}

static void launch(cudaStream_t stream)
{
    CUDA_OK(cudaLaunchKernel((const void *)recording_kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream));
}

static const CUpti_ActivityKernel10 *kernel(size_t nth)
{
    const CUpti_ActivityKernel10 *record = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, nth);
    assert_non_null(record);
    return record;
}

static void record_kernels(void)
{
    recording_enable((const CUpti_ActivityKind[]){CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_INVALID});
}

static bool overlap(const CUpti_ActivityKernel10 *a, const CUpti_ActivityKernel10 *b)
{
    return a->start < b->end && b->start < a->end;
}

UNIT_TEST_WITH(a_stream_does_one_thing_after_the_other, NULL, clear)
{
    record_kernels();
    for (int i = 0; i < 5; i++)
        launch(NULL);
    CUDA_OK(cudaStreamSynchronize(NULL));
    recording_flush(false);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(kernel(i)->end - kernel(i)->start, KERNEL_NS);
        if (i)
            assert_int_equal(kernel(i)->start, kernel(i - 1)->end);
    }
}

UNIT_TEST_WITH(streams_run_beside_each_other, NULL, clear)
{
    record_kernels();
    cudaStream_t streams[2];
    for (int i = 0; i < 2; i++)
        CUDA_OK(cudaStreamCreate(&streams[i]));
    launch(streams[0]);
    launch(streams[1]);
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    assert_true(overlap(kernel(0), kernel(1)));
    assert_int_not_equal(kernel(0)->streamId, kernel(1)->streamId);
    for (int i = 0; i < 2; i++)
        CUDA_OK(cudaStreamDestroy(streams[i]));
}

UNIT_TEST_WITH(a_stream_waits_for_an_event_of_another, NULL, clear)
{
    record_kernels();
    cudaStream_t first, second;
    cudaEvent_t event;
    CUDA_OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA_OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CUDA_OK(cudaEventCreate(&event));
    launch(first);
    CUDA_OK(cudaEventRecord(event, first));
    launch(first);
    CUDA_OK(cudaStreamWaitEvent(second, event, 0));
    launch(second);
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    assert_true(kernel(2)->start >= kernel(0)->end);
    assert_true(overlap(kernel(1), kernel(2)));
    CUDA_OK(cudaEventDestroy(event));
    CUDA_OK(cudaStreamDestroy(first));
    CUDA_OK(cudaStreamDestroy(second));
}

UNIT_TEST_WITH(the_null_stream_and_blocking_streams_wait_for_each_other, NULL, clear)
{
    record_kernels();
    cudaStream_t blocking, other;
    CUDA_OK(cudaStreamCreate(&blocking));
    CUDA_OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    launch(blocking);
    launch(NULL);
    launch(blocking);
    launch(other);
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    assert_true(kernel(1)->start >= kernel(0)->end);
    assert_true(kernel(2)->start >= kernel(1)->end);
    assert_true(overlap(kernel(0), kernel(3)));
    CUDA_OK(cudaStreamDestroy(blocking));
    CUDA_OK(cudaStreamDestroy(other));
}

UNIT_TEST_WITH(elapsed_time_is_that_between_two_events, NULL, clear)
{
    cudaEvent_t before, after, untimed;
    CUDA_OK(cudaEventCreate(&before));
    CUDA_OK(cudaEventCreate(&after));
    CUDA_OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    float ms = 0;
    assert_int_equal(cudaEventElapsedTime(&ms, before, after), cudaErrorInvalidResourceHandle);
    CUDA_OK(cudaEventRecord(before, NULL));
    launch(NULL);
    launch(NULL);
    CUDA_OK(cudaEventRecord(after, NULL));
    assert_int_equal(cudaEventQuery(after), cudaErrorNotReady);
    assert_int_equal(cudaEventElapsedTime(&ms, before, after), cudaErrorNotReady);
    CUDA_OK(cudaEventSynchronize(after));
    CUDA_OK(cudaEventQuery(after));
    CUDA_OK(cudaEventElapsedTime(&ms, before, after));
    assert_true(ms >= 39.99f && ms < 1000);
    assert_int_equal(cudaEventElapsedTime(&ms, before, untimed), cudaErrorInvalidResourceHandle);
    CUDA_OK(cudaEventDestroy(before));
    CUDA_OK(cudaEventDestroy(after));
    CUDA_OK(cudaEventDestroy(untimed));
}

static uint64_t now(void)
{
    uint64_t time;
    cuptiGetTimestamp(&time);
    return time;
}

static void note_time(void *time)
{
    *(uint64_t *)time = now();
}

UNIT_TEST_WITH(functions_of_the_host_are_called_in_the_streams_order, NULL, clear)
{
    record_kernels();
    uint64_t called = 0;
    launch(NULL);
    CUDA_OK(cudaLaunchHostFunc(NULL, note_time, &called));
    launch(NULL);
    CUDA_OK(cudaStreamSynchronize(NULL));
    recording_flush(false);
    assert_true(called >= kernel(0)->end);
    assert_true(called <= kernel(1)->start);
}

UNIT_TEST_WITH(waiting_takes_as_long_as_the_work, NULL, clear)
{
    uint64_t begin = now();
    launch(NULL);
    assert_true(now() - begin < KERNEL_NS); /* the launch itself does not */
    CUDA_OK(cudaStreamSynchronize(NULL));
    assert_true(now() - begin >= KERNEL_NS);
}

static void *use_own_stream(void *unused)
{
    (void)unused;
    for (int i = 0; i < 3; i++)
        CUDA_OK(cudaLaunchKernel((const void *)recording_kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0,
                                 cudaStreamPerThread));
    CUDA_OK(cudaStreamSynchronize(cudaStreamPerThread));
    return NULL;
}

UNIT_TEST_WITH(threads_have_default_streams_of_their_own, NULL, clear)
{
    record_kernels();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, use_own_stream, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    recording_flush(false);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 6);
    uint32_t first = kernel(0)->streamId, second = 0;
    for (size_t i = 0; i < 6; i++)
        if (kernel(i)->streamId != first)
            second = kernel(i)->streamId;
    assert_int_not_equal(second, 0);
    assert_int_not_equal(first, 7);
    assert_int_not_equal(second, 7);
}

UNIT_TEST_WITH(an_event_of_a_context_stands_for_all_its_streams, NULL, clear)
{
    cudaStream_t streams[2];
    cudaEvent_t event;
    CUcontext context;
    CUDA_OK(cuCtxGetCurrent(&context));
    CUDA_OK(cudaEventCreate(&event));
    for (int i = 0; i < 2; i++)
        CUDA_OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    record_kernels();
    launch(streams[0]);
    CUDA_OK(cuCtxRecordEvent(context, event));
    CUDA_OK(cuCtxWaitEvent(context, event));
    launch(streams[1]);
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    assert_true(kernel(1)->start >= kernel(0)->end);
    for (int i = 0; i < 2; i++)
        CUDA_OK(cudaStreamDestroy(streams[i]));
    CUDA_OK(cudaEventDestroy(event));
}

UNIT_MAIN(start, NULL)
