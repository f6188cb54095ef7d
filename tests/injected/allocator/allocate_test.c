/* Allocating and freeing: what the driver is asked for, what is counted, what happens when there is none. */
#include "tests/unit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>

#include <gputrace/allocator.h>

#include "injected/registry/registry.h"
#include "tests/injected/allocator/fake_cuda.h"

static int device; /* of the test that runs: its heap is new */

static int start(void **state)
{
    (void)state;
    device = fake_cuda_start();
    return 0;
}

static void *take(size_t bytes, unsigned stream)
{
    void *pointer = gputrace_malloc(bytes, device, fake_stream_of(stream));
    assert_non_null(pointer);
    return pointer;
}

static void give(void *pointer, unsigned stream)
{
    gputrace_free(pointer, 0, device, fake_stream_of(stream));
}

static struct gputrace_allocator_stats stats(void)
{
    struct gputrace_allocator_stats stats;
    assert_int_equal(gputrace_allocator_stats(device, &stats), 0);
    return stats;
}

#define assert_figure(figure, current_, peak_, total_, freed_) \
    do {                                                       \
        struct gputrace_allocator_figure is = (figure);        \
        assert_int_equal(is.current, (current_));              \
        assert_int_equal(is.peak, (peak_));                    \
        assert_int_equal(is.total, (total_));                  \
        assert_int_equal(is.freed, (freed_));                  \
    } while (0)

static void memory_comes_from_a_pool_of_the_device_that_keeps_all(void **state)
{
    (void)state;
    give(take(100, 5), 5);
    assert_string_equal(fake_cuda_asked(), "pool 1\n"
                                           "set 4 of pool 1 to ffffffffffffffff\n"
                                           "alloc 100 from pool 1 in 5\n"
                                           "free 1 in 5\n");
    give(take(200, 6), 7); /* freed in another stream: as that one says */
    assert_string_equal(fake_cuda_asked(), "alloc 200 from pool 1 in 6\nfree 1 in 7\n");
}

static void it_is_counted_by_device_and_by_stream(void **state)
{
    (void)state;
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

static void peaks_and_totals_begin_anew_when_asked(void **state)
{
    (void)state;
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

static void nothing_is_no_memory_and_no_failure(void **state)
{
    (void)state;
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

static void statistics_of_a_device_that_is_not_used_make_no_context(void **state)
{
    (void)state;
    assert_int_equal(stats().device_bytes, FAKE_DEVICE_BYTES);
    assert_int_equal(stats().limit, UINT64_MAX);
    assert_string_equal(fake_cuda_asked(), "");
}

static void unknown_pointers_are_ignored_and_counted(void **state)
{
    (void)state;
    int there;
    void *a = take(10, 5);
    give(&there, 5);
    give(a, 5);
    give(a, 5);
    assert_int_equal(stats().unknown_frees, 2);
    assert_figure(stats().held_bytes, 0, 10, 10, 10);
    assert_int_equal(fake_cuda_wrong_frees(), 0);
}

static void a_wrong_device_does_not_matter(void **state)
{
    (void)state;
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

static void another_thread_may_free(void **state)
{
    (void)state;
    pthread_t thread;
    void *current;
    void *a = take(10, 5);
    assert_int_equal(pthread_create(&thread, NULL, give_elsewhere, a), 0);
    pthread_join(thread, &current);
    assert_figure(stats().held_bytes, 0, 10, 10, 10);
    assert_ptr_equal(current, fake_cuda_primary(device)); /* it had none */
}

static void a_context_of_the_device_is_current(void **state)
{
    (void)state;
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

static void a_free_waits_for_the_streams_recorded(void **state)
{
    (void)state;
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

static void without_an_event_the_host_waits(void **state)
{
    (void)state;
    void *a = take(10, 5);
    gputrace_allocator_record_stream(a, fake_stream_of(6));
    fake_cuda_says.record = CUDA_ERROR_INVALID_HANDLE;
    fake_cuda_asked();
    give(a, 5);
    assert_string_equal(fake_cuda_asked(), "record in 6\nsynchronize 6\nfree 1 in 5\n");
}

/* --- no memory --- */

static void beyond_the_fraction_there_is_none(void **state)
{
    (void)state;
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

static void in_C_the_throwing_function_gives_NULL(void **state)
{
    (void)state;
    if (dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD))
        skip(); /* a sanitizer brings it; then there is an exception */
    assert_int_equal(gputrace_allocator_set_fraction(0, device), 0);
    assert_null(gputrace_torch_malloc(1, device, NULL));
    assert_null(gputrace_torch_malloc(0, device, NULL));
    assert_int_equal(stats().failures, 1);
}

static void told(void *data, const struct gputrace_memory_allocation_failure *failure)
{
    *(struct gputrace_memory_allocation_failure *)data = *failure;
}

static void a_refusal_is_told_to_who_registered_for_failures(void **state)
{
    (void)state;
    static struct gputrace_memory_allocation_failure failure;
    uint64_t registration =
        registry_add(REGISTRY_LIBRARY, REGISTRY_memory_allocation_failure, (gputrace_any_fn *)told, &failure);
    gputrace_allocator_set_fraction(0, device);
    assert_null(gputrace_malloc(123, device, fake_stream_of(7)));
    assert_int_equal(failure.bytes, 123);
    assert_ptr_equal(failure.stream, fake_stream_of(7));
    assert_int_equal(failure.call.device, device);
    assert_int_equal(failure.call.result, CUDA_ERROR_OUT_OF_MEMORY);
    assert_string_equal(failure.call.function, "gputrace_malloc");
    gputrace_allocator_set_fraction(1, device);
    failure.bytes = 0;
    fake_cuda_says.allocate = CUDA_ERROR_OUT_OF_MEMORY;
    assert_null(gputrace_malloc(123, device, fake_stream_of(7)));
    assert_int_equal(failure.bytes, 0); /* the driver's call tells that by itself */
    registry_remove(REGISTRY_LIBRARY, registration);
}

static void what_pools_do_not_use_is_given_back_before_it_fails(void **state)
{
    (void)state;
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

static void other_errors_are_not_tried_again(void **state)
{
    (void)state;
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

static void whoever_wants_to_help_is_asked(void **state)
{
    (void)state;
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

static void hope_alone_ends(void **state)
{
    (void)state;
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

static void memory_that_the_driver_does_not_take_back_is_lost(void **state)
{
    (void)state;
    void *a = take(10, 5);
    fake_cuda_says.free = CUDA_ERROR_INVALID_VALUE;
    give(a, 5);
    assert_int_equal(stats().failed_frees, 1);
    assert_figure(stats().held_bytes, 10, 10, 10, 0);
    assert_figure(stats().allocated_bytes, 0, 10, 10, 10);
}

/* --- the rest --- */

static int collect(void *data, const struct gputrace_allocator_allocation *allocation)
{
    struct gputrace_allocator_allocation **next = data;
    *(*next)++ = *allocation;
    return allocation->bytes == 999 ? 7 : 0;
}

static void a_snapshot_holds_what_is_allocated_in_order(void **state)
{
    (void)state;
    struct gputrace_allocator_allocation list[8], *next = list;
    void *a = take(1, 5), *b = take(2, 6), *c = take(3, 7), *d = take(999, 8);
    give(b, 6);
    assert_int_equal(gputrace_allocator_snapshot(device, collect, &next), 7);
    assert_int_equal(next - list, 3);
    assert_ptr_equal(list[0].pointer, a);
    assert_int_equal(list[0].bytes, 1);
    assert_ptr_equal(list[0].stream, fake_stream_of(5));
    assert_int_equal(list[0].device, device);
    assert_int_equal(list[0].thread, gettid());
    assert_ptr_equal(list[1].pointer, c);
    assert_true(list[0].time <= list[1].time && list[0].sequence < list[1].sequence);
    give(d, 8);
    next = list;
    assert_int_equal(gputrace_allocator_snapshot(-1, collect, &next), 0);
    assert_ptr_equal(next[-1].pointer, c);
    give(a, 5);
    give(c, 7);
    next = list;
    assert_int_equal(gputrace_allocator_snapshot(device, collect, &next), 0);
    assert_ptr_equal(next, list);
    assert_int_equal(gputrace_allocator_snapshot(1000, collect, &next), -1);
}

static void history_keeps_the_last_events(void **state)
{
    (void)state;
    struct gputrace_allocator_event events[8];
    give(take(1, 5), 5);
    assert_int_equal(gputrace_allocator_history_read(device, events, 8), 0);
    assert_int_equal(gputrace_allocator_history(device, 3), 0);
    void *a = take(10, 5), *b = take(20, 6);
    give(a, 7);
    assert_null(gputrace_malloc(FAKE_DEVICE_BYTES, device, fake_stream_of(8)));
    assert_int_equal(gputrace_allocator_history_read(device, events, 8), 3);
    assert_int_equal(events[0].what, GPUTRACE_ALLOCATED);
    assert_ptr_equal(events[0].pointer, b);
    assert_int_equal(events[0].held, 30);
    assert_int_equal(events[1].what, GPUTRACE_FREED);
    assert_ptr_equal(events[1].pointer, a);
    assert_ptr_equal(events[1].stream, fake_stream_of(7));
    assert_int_equal(events[1].bytes, 10);
    assert_int_equal(events[2].what, GPUTRACE_FAILED);
    assert_null(events[2].pointer);
    assert_int_equal(events[2].bytes, FAKE_DEVICE_BYTES);
    assert_int_equal(events[2].sequence, events[0].sequence + 2);
    assert_int_equal(gputrace_allocator_history_read(device, events, 1), 1);
    assert_int_equal(events[0].what, GPUTRACE_FAILED);
    give(b, 6);
    assert_int_equal(gputrace_allocator_history(device, 0), 0);
    assert_int_equal(gputrace_allocator_history_read(device, events, 8), 0);
}

static void the_base_of_an_allocation_is_found(void **state)
{
    (void)state;
    size_t size = 5;
    char *a = take(100, 5);
    assert_ptr_equal(gputrace_allocator_base(a + 99, &size), a);
    assert_int_equal(size, 100);
    assert_ptr_equal(gputrace_allocator_base(a, NULL), a);
    assert_null(gputrace_allocator_base(a + 100, &size));
    assert_int_equal(size, 0);
    give(a, 5);
    assert_null(gputrace_allocator_base(a, &size));
}

static void pools_are_set_as_asked(void **state)
{
    (void)state;
    give(take(1, 5), 5);
    fake_cuda_asked();
    assert_int_equal(gputrace_allocator_set_release_threshold(device, 16), 0);
    assert_int_equal(gputrace_allocator_enable_peer(device, device + 1), 0);
    assert_int_equal(gputrace_allocator_enable_peer(device, device), -1);
    assert_int_equal(gputrace_allocator_enable_peer(device, -1), -1);
    assert_int_equal(gputrace_allocator_set_release_threshold(-1, 16), -1);
    gputrace_allocator_begin_pool(device, (struct gputrace_pool_id){1, 2}, NULL);
    gputrace_allocator_reset_peak(device);
    gputrace_allocator_trim();
    char expected[512];
    snprintf(expected, sizeof(expected),
             "set 4 of pool 1 to 10\nlet %d into pool 1\nlet %d into pool 1\n"
             "pool 2\nset 4 of pool 2 to 10\nlet %d into pool 2\n"
             "set 6 of pool 1 to 0\nset 6 of pool 2 to 0\n",
             device + 1, device, device + 1);
    const char *asked = fake_cuda_asked();
    assert_memory_equal(asked, expected, strlen(expected));
    assert_contains(asked, "trim pool 1 to 0\ntrim pool 2 to 0\n");
    gputrace_allocator_release_pool(device, (struct gputrace_pool_id){1, 2});
}

static void a_device_without_pools_has_no_memory_and_says_so_once(void **state)
{
    (void)state;
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

static void a_forked_child_has_no_memory(void **state)
{
    (void)state;
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

#define TEST(name) cmocka_unit_test_setup(name, start)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(memory_comes_from_a_pool_of_the_device_that_keeps_all),
        TEST(it_is_counted_by_device_and_by_stream),
        TEST(peaks_and_totals_begin_anew_when_asked),
        TEST(nothing_is_no_memory_and_no_failure),
        TEST(statistics_of_a_device_that_is_not_used_make_no_context),
        TEST(unknown_pointers_are_ignored_and_counted),
        TEST(a_wrong_device_does_not_matter),
        TEST(another_thread_may_free),
        TEST(a_context_of_the_device_is_current),
        TEST(a_free_waits_for_the_streams_recorded),
        TEST(without_an_event_the_host_waits),
        TEST(beyond_the_fraction_there_is_none),
        TEST(in_C_the_throwing_function_gives_NULL),
        TEST(a_refusal_is_told_to_who_registered_for_failures),
        TEST(what_pools_do_not_use_is_given_back_before_it_fails),
        TEST(other_errors_are_not_tried_again),
        TEST(whoever_wants_to_help_is_asked),
        TEST(hope_alone_ends),
        TEST(memory_that_the_driver_does_not_take_back_is_lost),
        TEST(a_snapshot_holds_what_is_allocated_in_order),
        TEST(history_keeps_the_last_events),
        TEST(the_base_of_an_allocation_is_found),
        TEST(pools_are_set_as_asked),
        TEST(a_device_without_pools_has_no_memory_and_says_so_once),
        TEST(a_forked_child_has_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
