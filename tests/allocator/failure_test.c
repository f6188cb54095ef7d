/* When there is no memory: limits, failures, and functions that the program registered to free some. */
#include "tests/allocator/using.h"

#include <dlfcn.h>
#include <stddef.h>

#include <gputrace/callbacks.h>

UNIT_TEST_WITH(beyond_the_fraction_there_is_no_memory, start, NULL)
{
    struct gputrace_allocator_stream_stats of_stream;
    assert_int_equal(gputrace_allocator_set_fraction(0.25, device), 0);
    assert_int_equal(stats().limit, FAKE_DEVICE_BYTES / 4);
    void *a = take(FAKE_DEVICE_BYTES / 4 - 10, 5);
    fake_cuda_asked();
    assert_null(gputrace_malloc(11, device, fake_stream_of(5)));
    assert_string_equal(fake_cuda_asked(), "");
    assert_int_equal(stats().failures, 1);
    gputrace_allocator_stream_stats(device, fake_stream_of(5), &of_stream);
    assert_int_equal(of_stream.failures, 1);
    void *b = take(10, 5);
    give(a, 5);
    a = take(FAKE_DEVICE_BYTES / 4 - 10, 5);
    assert_int_equal(gputrace_allocator_set_fraction(0.1, device), 0); /* less than what is held */
    assert_null(gputrace_malloc(1, device, NULL));
    assert_null(gputrace_malloc(SIZE_MAX, device, NULL));
    assert_int_equal(gputrace_allocator_set_fraction(1, device), 0);
    give(take(FAKE_DEVICE_BYTES / 2, 5), 5);
    give(a, 5);
    give(b, 5);
    assert_int_equal(gputrace_allocator_set_fraction(-0.5, device), -1);
    assert_int_equal(gputrace_allocator_set_fraction(0.0 / 0.0, device), -1);
    assert_int_equal(gputrace_allocator_set_fraction(0.5, -1), -1);
}

UNIT_TEST_WITH(failed_allocations_do_not_count_for_the_limit, start, NULL)
{
    gputrace_allocator_set_fraction(0.5, device);
    fake_cuda_says.allocate = CUDA_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < 10; i++)
        assert_null(gputrace_malloc(FAKE_DEVICE_BYTES / 4, device, fake_stream_of(5)));
    fake_cuda_says.allocate = CUDA_SUCCESS;
    void *a = take(FAKE_DEVICE_BYTES / 2, 5);
    assert_int_equal(stats().failures, 10);
    give(a, 5);
}

UNIT_TEST_WITH(in_C_the_throwing_function_gives_NULL, start, NULL)
{
    if (dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD))
        skip(); /* a sanitizer brings it; then there is an exception */
    assert_int_equal(gputrace_allocator_set_fraction(0, device), 0);
    assert_null(gputrace_torch_malloc(1, device, NULL));
    assert_null(gputrace_torch_malloc(0, device, NULL));
    assert_int_equal(stats().failures, 1);
}

static struct gputrace_memory_allocation_failure published;

static void publish(const struct gputrace_host *host, const struct gputrace_memory_allocation_failure *failure)
{
    (void)host;
    published = *failure;
}

UNIT_TEST_WITH(beyond_the_fraction_the_agent_publishes_the_failure, start, NULL)
{
    struct gputrace_host host = {.size = sizeof(host), .allocation_failed = publish};
    gpu_host_replace(&host);
    gputrace_allocator_set_fraction(0, device);
    assert_null(gputrace_malloc(123, device, fake_stream_of(7)));
    assert_int_equal(published.bytes, 123);
    assert_ptr_equal(published.stream, fake_stream_of(7));
    assert_int_equal(published.call.device, device);
    assert_int_equal(published.call.result, CUDA_ERROR_OUT_OF_MEMORY);
    assert_string_equal(published.call.function, "gputrace_malloc");
    gputrace_allocator_set_fraction(1, device);
    published.bytes = 0;
    fake_cuda_says.allocate = CUDA_ERROR_OUT_OF_MEMORY;
    assert_null(gputrace_malloc(123, device, fake_stream_of(7)));
    assert_int_equal(published.bytes, 0); /* the driver's own call is in the trace */
    gpu_host_replace(NULL);
}

UNIT_TEST_WITH(an_agent_that_is_older_than_the_allocator_publishes_nothing, start, NULL)
{
    struct gputrace_host older = {.size = offsetof(struct gputrace_host, event_take), .allocation_failed = publish};
    gpu_host_replace(&older);
    gputrace_allocator_set_fraction(0, device);
    published.bytes = 0;
    assert_null(gputrace_malloc(123, device, fake_stream_of(7)));
    assert_int_equal(published.bytes, 0);
    gputrace_allocator_set_fraction(1, device);
    void *a = take(10, 5);
    gputrace_allocator_record_stream(a, fake_stream_of(6));
    fake_cuda_asked();
    give(a, 5);
    assert_string_equal(fake_cuda_asked(), "record in 6\nwait in 5\nfree 1 in 5\n"); /* with an event of its own */
    gpu_host_replace(NULL);
}

UNIT_TEST_WITH(unused_memory_of_pools_is_released_before_an_allocation_fails, start, NULL)
{
    give(take(10, 5), 5);
    fake_cuda_asked();
    assert_null(gputrace_malloc(FAKE_DEVICE_BYTES + 1, device, fake_stream_of(5)));
    assert_string_equal(fake_cuda_asked(), "alloc 1048577 from pool 1 in 5\n"
                                           "synchronize 5\n"
                                           "trim pool 1 to 0\n"
                                           "alloc 1048577 from pool 1 in 5\n");
    assert_int_equal(stats().failures, 1);
    assert_int_equal(stats().retries, 1);
    assert_figure(stats().held_bytes, 0, 10, 10, 10);
}

UNIT_TEST_WITH(other_errors_are_not_tried_again, start, NULL)
{
    give(take(10, 5), 5);
    fake_cuda_asked();
    fake_cuda_says.allocate = CUDA_ERROR_ILLEGAL_ADDRESS;
    assert_null(gputrace_malloc(10, device, fake_stream_of(5)));
    assert_string_equal(fake_cuda_asked(), "alloc 10 from pool 1 in 5\n");
    assert_int_equal(stats().failures, 1);
}

struct helper {
    void *spare;
    unsigned calls;
    size_t size, held;
};

static int help(void *data, int where, size_t size, size_t held)
{
    struct helper *helper = data;
    assert_int_equal(where, device);
    helper->calls++;
    helper->size = size;
    helper->held = held;
    void *spare = helper->spare;
    helper->spare = NULL;
    give(spare, 5);
    return spare != NULL;
}

UNIT_TEST_WITH(registered_functions_are_called_for_help, start, NULL)
{
    struct helper none = {0}, one = {.spare = take(FAKE_DEVICE_BYTES / 2, 5)};
    assert_int_equal(gputrace_allocator_on_failure(help, &none), 0);
    assert_int_equal(gputrace_allocator_on_failure(help, &one), 0);
    void *a = take(FAKE_DEVICE_BYTES, 5);
    assert_int_equal(none.calls, 1);
    assert_int_equal(one.calls, 1);
    assert_int_equal(one.size, FAKE_DEVICE_BYTES);
    assert_int_equal(one.held, FAKE_DEVICE_BYTES / 2);
    assert_int_equal(stats().failures, 0);
    assert_int_equal(stats().retries, 2); /* after trimming, after helping */
    assert_null(gputrace_malloc(1, device, NULL));
    assert_int_equal(one.calls, 2);
    assert_int_equal(gputrace_allocator_off_failure(help, &none), 0);
    assert_int_equal(gputrace_allocator_off_failure(help, &none), -1);
    assert_null(gputrace_malloc(1, device, NULL));
    assert_int_equal(none.calls, 2);
    assert_int_equal(one.calls, 3);
    assert_int_equal(gputrace_allocator_off_failure(help, &one), 0);
    give(a, 5);
}

static int hope(void *data, int where, size_t size, size_t held)
{
    (void)where, (void)size, (void)held;
    ++*(unsigned *)data;
    assert_null(gputrace_malloc(FAKE_DEVICE_BYTES + 1, device, NULL)); /* does not come here */
    return 1;
}

UNIT_TEST_WITH(an_allocation_is_tried_again_8_times_at_most, start, NULL)
{
    unsigned calls = 0;
    assert_int_equal(gputrace_allocator_on_failure(hope, &calls), 0);
    assert_null(gputrace_malloc(FAKE_DEVICE_BYTES + 1, device, NULL));
    assert_int_equal(calls, 7); /* and one attempt after trimming */
    for (int i = 0; i < 7; i++)
        assert_int_equal(gputrace_allocator_on_failure(hope, &calls), 0);
    assert_int_equal(gputrace_allocator_on_failure(hope, &calls), -1);
    assert_int_equal(gputrace_allocator_on_failure(NULL, &calls), -1);
    for (int i = 0; i < 8; i++)
        assert_int_equal(gputrace_allocator_off_failure(hope, &calls), 0);
}

UNIT_TEST_WITH(memory_that_the_driver_does_not_free_is_lost, start, NULL)
{
    void *a = take(10, 5);
    fake_cuda_says.free = CUDA_ERROR_INVALID_VALUE;
    give(a, 5);
    assert_int_equal(stats().failed_frees, 1);
    assert_figure(stats().held_bytes, 10, 10, 10, 0);
    assert_figure(stats().allocated_bytes, 0, 10, 10, 10);
    gputrace_allocator_set_fraction(10.0 / FAKE_DEVICE_BYTES, device);
    assert_null(gputrace_malloc(1, device, NULL)); /* it is still held */
    gputrace_allocator_set_fraction(1, device);
}

UNIT_MAIN(NULL, NULL)
