/* CUPTI's activity buffers: who asks for them, what is in them while work goes on, and when they come back. */
#include "tests/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "recording.h"

static const CUpti_ActivityKind kernels[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_INVALID};

UNIT_FIXTURE(start)
{
    setenv("SIMGPU_KERNEL_NS", "20000", 1);
    return recording_start_warm(2048); /* nine kernels */
}

UNIT_FIXTURE(clear)
{
    cudaDeviceSynchronize();
    recording_clear();
    return 0;
}

/* A function in the stream that ends when it is let. */
static atomic_bool let;

static void wait_to_be_let(void *unused)
{
    (void)unused;
    while (!atomic_load(&let))
        nanosleep(&(struct timespec){0, 100000}, NULL);
}

UNIT_TEST_WITH(launched_work_is_in_the_buffer_at_once_and_incomplete, NULL, clear)
{
    recording_enable(kernels);
    atomic_store(&let, false);
    CUDA_OK(cudaLaunchHostFunc(NULL, wait_to_be_let, NULL));
    recording_kernel();
    const uint8_t *buffer = recording_open_buffer();
    assert_non_null(buffer);
    CUpti_ActivityKernel10 record;
    memcpy(&record, buffer, sizeof(record));
    assert_int_equal((uint32_t)record.kind, 0x8000000a);
    assert_int_equal(record.start, 0);
    assert_int_equal(record.end, 0);
    assert_string_equal(record.name, "_Z16recording_kernelv");

    CUpti_Activity *next = NULL;
    assert_int_equal(cuptiActivityGetNextRecord((uint8_t *)(uintptr_t)buffer, 216, &next),
                     CUPTI_ERROR_MAX_LIMIT_REACHED);
    recording_flush(false);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);

    atomic_store(&let, true);
    CUDA_OK(cudaDeviceSynchronize());
    assert_ptr_equal(recording_open_buffer(), buffer);
    assert_int_equal(*(const uint32_t *)(const void *)buffer, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    recording_flush(false);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
}

UNIT_TEST_WITH(a_forced_flush_gives_running_work_without_an_end_and_never_again, NULL, clear)
{
    recording_enable(kernels);
    atomic_store(&let, false);
    CUDA_OK(cudaLaunchHostFunc(NULL, wait_to_be_let, NULL));
    recording_kernel();
    recording_flush(true);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
    const CUpti_ActivityKernel10 *kernel = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    assert_int_equal(kernel->end, 0);
    atomic_store(&let, true);
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(true);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
}

UNIT_TEST_WITH(full_buffers_come_back_without_a_flush, NULL, clear)
{
    recording_enable(kernels);
    for (int i = 0; i < 100; i++)
        recording_kernel();
    CUDA_OK(cudaDeviceSynchronize());
    for (int i = 0; i < 1000 && recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) < 99; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 99); /* 11 times 9, and one waits */
    recording_flush(false);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 100);
    assert_int_equal(recording_requests(), 12);
    size_t dropped;
    CUDA_OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    assert_int_equal(dropped, 0);
}

static void *launch_two(void *requests)
{
    recording_kernel();
    recording_kernel();
    *(unsigned *)requests = recording_requests_here;
    return NULL;
}

UNIT_TEST_WITH(every_thread_asks_for_a_buffer_of_its_own, NULL, clear)
{
    recording_enable(kernels);
    recording_kernel();
    unsigned requests[4];
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, launch_two, &requests[i]);
        pthread_join(thread, NULL);
        assert_int_equal(requests[i], 1);
    }
    assert_int_equal(recording_requests_here, 1);
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 9);
}

UNIT_TEST_WITH(one_buffer_serves_all_threads_when_asked, NULL, clear)
{
    uint8_t per_thread = 1;
    size_t size = sizeof(per_thread);
    CUDA_OK(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &per_thread));
    assert_int_equal(per_thread, 1);
    per_thread = 0;
    CUDA_OK(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &per_thread));
    recording_enable(kernels);
    recording_kernel();
    unsigned requests;
    pthread_t thread;
    pthread_create(&thread, NULL, launch_two, &requests);
    pthread_join(thread, NULL);
    assert_int_equal(requests, 0);
    assert_int_equal(recording_requests(), 1);
    per_thread = 1;
    CUDA_OK(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &per_thread));
}

static void *launch_many(void *unused)
{
    (void)unused;
    for (int i = 0; i < 500; i++)
        recording_kernel();
    return NULL;
}

UNIT_TEST_WITH(no_record_is_lost_between_threads_and_flushes, NULL, clear)
{
    recording_enable(kernels);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, launch_many, NULL);
    for (int i = 0; i < 50; i++) {
        recording_flush(false);
        nanosleep(&(struct timespec){0, 200000}, NULL);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 2000);
}

UNIT_MAIN(start, NULL)
