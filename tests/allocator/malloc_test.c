/* Allocating and freeing: what the driver is asked for, and what is counted. */
#include "tests/allocator/using.h"

#include <pthread.h>
#include <sys/wait.h>

UNIT_TEST_WITH(memory_comes_from_a_pool_that_keeps_all, start, NULL)
{
    give(take(100, 5), 5);
    assert_string_equal(fake_cuda_asked(), "pool 1\n"
                                           "set 4 of pool 1 to ffffffffffffffff\n"
                                           "alloc 100 from pool 1 in 5\n"
                                           "free 1 in 5\n");
    give(take(200, 6), 7); /* freed in another stream: as that one says */
    assert_string_equal(fake_cuda_asked(), "alloc 200 from pool 1 in 6\nfree 1 in 7\n");
}

UNIT_TEST_WITH(allocations_are_counted_by_device_and_by_stream, start, NULL)
{
    struct gputrace_allocator_stream_stats of_stream, all[4];
    void *a = take(100, 5), *b = take(30, 6), *c = take(7, 5);
    give(a, 5);
    assert_figure(stats().allocations, 2, 3, 3, 1);
    assert_figure(stats().allocated_bytes, 37, 137, 137, 100);
    assert_figure(stats().held_bytes, 37, 137, 137, 100);
    assert_int_equal(stats().device_bytes, FAKE_DEVICE_BYTES);
    assert_int_equal(stats().reserved_bytes, 5001); /* as the driver says */
    assert_int_equal(stats().reserved_peak, 6001);
    assert_int_equal(gputrace_allocator_stream_stats(device, fake_stream_of(5), &of_stream), 0);
    assert_ptr_equal(of_stream.stream, fake_stream_of(5));
    assert_figure(of_stream.allocations, 1, 2, 2, 1);
    assert_figure(of_stream.allocated_bytes, 7, 107, 107, 100);
    assert_int_equal(gputrace_allocator_stream_stats(device, fake_stream_of(9), &of_stream), 0);
    assert_figure(of_stream.allocations, 0, 0, 0, 0);
    assert_int_equal(gputrace_allocator_streams(device, all, 4), 2);
    assert_int_equal(all[0].allocated_bytes.current + all[1].allocated_bytes.current, 37);
    assert_int_equal(gputrace_allocator_streams(device, all, 1), 2);
    give(b, 6);
    give(c, 5);
    assert_figure(stats().held_bytes, 0, 137, 137, 137);
}

UNIT_TEST_WITH(peaks_and_totals_are_reset, start, NULL)
{
    struct gputrace_allocator_stream_stats of_stream;
    void *a = take(100, 5), *b = take(50, 5);
    give(a, 5);
    give(a, 5);
    gputrace_allocator_reset_peak(device);
    assert_figure(stats().allocated_bytes, 50, 50, 150, 100);
    assert_int_equal(stats().unknown_frees, 1);
    gputrace_allocator_stream_stats(device, fake_stream_of(5), &of_stream);
    assert_figure(of_stream.allocated_bytes, 50, 50, 150, 100);
    gputrace_allocator_reset_accumulated(device);
    assert_figure(stats().held_bytes, 50, 50, 0, 0);
    assert_figure(stats().allocations, 1, 1, 0, 0);
    assert_int_equal(stats().unknown_frees, 0);
    gputrace_allocator_stream_stats(device, fake_stream_of(5), &of_stream);
    assert_figure(of_stream.allocated_bytes, 50, 50, 0, 0);
    give(b, 5);
}

UNIT_TEST_WITH(size_0_returns_NULL_and_is_not_a_failure, start, NULL)
{
    assert_null(gputrace_malloc(0, device, NULL));
    assert_string_equal(fake_cuda_asked(), "");
    assert_int_equal(stats().failures, 0);
    give(NULL, 5);
    assert_null(gputrace_malloc(10, -1, NULL));
    assert_null(gputrace_malloc(10, 1000, NULL));
    struct gputrace_allocator_stats none;
    assert_int_equal(gputrace_allocator_stats(-1, &none), -1);
    assert_int_equal(gputrace_allocator_stats(1000, &none), -1);
}

UNIT_TEST_WITH(statistics_of_an_unused_device_create_no_context, start, NULL)
{
    assert_int_equal(stats().device_bytes, FAKE_DEVICE_BYTES);
    assert_int_equal(stats().limit, UINT64_MAX);
    assert_string_equal(fake_cuda_asked(), "");
}

UNIT_TEST_WITH(thousands_of_allocations_are_found, start, NULL)
{
    enum { MANY = 5000 };
    static void *pointers[MANY];
    fake_cuda_quiet();
    for (unsigned i = 0; i < MANY; i++)
        pointers[i] = take(1 + i % 7, 5 + i % 3);
    assert_int_equal(stats().allocations.current, MANY);
    for (unsigned i = 0; i < MANY; i++)
        give(pointers[i * 7 % MANY], 5);
    assert_int_equal(stats().allocations.freed, MANY);
    assert_int_equal(stats().unknown_frees, 0);
    assert_all_given_back();
}

UNIT_TEST_WITH(unknown_pointers_are_ignored_and_counted, start, NULL)
{
    int there;
    void *a = take(10, 5);
    give(&there, 5);
    give(a, 5);
    give(a, 5);
    assert_int_equal(stats().unknown_frees, 2);
    assert_figure(stats().held_bytes, 0, 10, 10, 10);
    assert_int_equal(fake_cuda_wrong_frees(), 0);
}

UNIT_TEST_WITH(a_wrong_device_does_not_matter, start, NULL)
{
    void *a = take(10, 5);
    gputrace_free(a, 99, device + 1, fake_stream_of(5));
    gputrace_free(take(10, 5), 99, -1, fake_stream_of(5));
    assert_figure(stats().held_bytes, 0, 10, 20, 20);
    assert_int_equal(stats().unknown_frees, 0);
}

static void *give_elsewhere(void *pointer)
{
    give(pointer, 5);
    return fake_cuda_current();
}

UNIT_TEST_WITH(another_thread_may_free, start, NULL)
{
    pthread_t thread;
    void *current;
    void *a = take(10, 5);
    assert_int_equal(pthread_create(&thread, NULL, give_elsewhere, a), 0);
    pthread_join(thread, &current);
    assert_figure(stats().held_bytes, 0, 10, 10, 10);
    assert_ptr_equal(current, fake_cuda_primary(device)); /* it had none */
}

UNIT_TEST_WITH(a_context_of_the_device_is_current, start, NULL)
{
    give(take(10, 5), 5);
    assert_ptr_equal(fake_cuda_current(), fake_cuda_primary(device)); /* as after a call of CUDA's runtime */
    fake_cuda_enter(fake_other_context(device));
    give(take(10, 5), 5);
    assert_ptr_equal(fake_cuda_current(), fake_other_context(device)); /* the program's own, of the same device */
    fake_cuda_enter(fake_other_context(device + 1));
    give(take(10, 5), 5);
    assert_ptr_equal(fake_cuda_current(), fake_other_context(device + 1)); /* left as it was */
}

/* --- streams that use it too --- */

UNIT_TEST_WITH(a_free_waits_for_recorded_streams, start, NULL)
{
    void *a = take(10, 5);
    gputrace_allocator_record_stream(a, fake_stream_of(6));
    gputrace_allocator_record_stream(a, fake_stream_of(5)); /* its own */
    for (unsigned i = 0; i < 3; i++)
        for (unsigned stream = 6; stream < 12; stream++)
            gputrace_allocator_record_stream(a, fake_stream_of(stream));
    fake_cuda_asked();
    give(a, 5);
    assert_string_equal(fake_cuda_asked(), "record in 6\nwait in 5\nrecord in 7\nwait in 5\nrecord in 8\nwait in 5\n"
                                           "record in 9\nwait in 5\nrecord in 10\nwait in 5\nrecord in 11\nwait in 5\n"
                                           "free 1 in 5\n");
    give(take(10, 5), 5); /* the next one is not used elsewhere */
    assert_string_equal(fake_cuda_asked(), "alloc 10 from pool 1 in 5\nfree 1 in 5\n");
    gputrace_allocator_record_stream(a, fake_stream_of(6));
    gputrace_allocator_record_stream(NULL, fake_stream_of(6));
}

UNIT_TEST_WITH(without_an_event_the_host_waits, start, NULL)
{
    void *a = take(10, 5);
    gputrace_allocator_record_stream(a, fake_stream_of(6));
    fake_cuda_says.record = CUDA_ERROR_INVALID_HANDLE;
    fake_cuda_asked();
    give(a, 5);
    assert_string_equal(fake_cuda_asked(), "record in 6\nsynchronize 6\nfree 1 in 5\n");
}

/* --- where there is none --- */

UNIT_TEST_WITH(a_device_without_pools_has_no_memory_and_says_so_once, start, NULL)
{
    fake_cuda_says.create_pool = CUDA_ERROR_NOT_SUPPORTED;
    unit_stderr_begin();
    void *a = gputrace_malloc(1, device, NULL), *b = gputrace_malloc(1, device, NULL);
    const char *words = unit_stderr_end();
    assert_null(a);
    assert_null(b);
    assert_contains(words, "has no memory pool");
    assert_ptr_equal(strchr(words, '\n'), words + strlen(words) - 1);
    fake_cuda_says.create_pool = CUDA_SUCCESS;
    give(take(1, 5), 5);
}

UNIT_TEST_WITH(a_forked_child_has_no_memory, start, NULL)
{
    void *a = take(10, 5);
    fake_cuda_asked();
    pid_t child = fork();
    if (child == 0) {
        void *b = gputrace_malloc(10, device, NULL);
        give(a, 5);
        _exit(!b && *fake_cuda_asked() == '\0' ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    give(a, 5);
    assert_figure(stats().held_bytes, 0, 10, 10, 10);
}

UNIT_MAIN(NULL, NULL)
