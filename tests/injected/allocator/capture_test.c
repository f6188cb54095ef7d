/* Memory for streams that are being captured, and private pools. */
#include "tests/unit.h"

#include <pthread.h>

#include <gputrace/allocator.h>

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

/* The heap is there, so that what a test sees is its own. */
static void warm_up(void)
{
    give(take(1, 9), 9);
    fake_cuda_asked();
}

/* One that has been through a capture too, and its two streams with it. */
static void warm_up_captures(void)
{
    fake_cuda_capture(9, 1, 1);
    void *a = take(1, 9);
    fake_cuda_end_capture(9);
    fake_cuda_destroy_graph(1);
    give(a, 9);
    give(take(1, 9), 9);
    fake_cuda_asked();
}

/* Nothing is held any more, by whomever. */
static void assert_all_given_back(void)
{
    give(take(1, 9), 9);
    assert_int_equal(stats().held_bytes.current, 0);
    assert_int_equal(stats().allocated_bytes.current, 0);
    assert_int_equal(fake_cuda_bytes(device), 0);
    assert_int_equal(fake_cuda_wrong_frees(), 0);
}

static void it_is_taken_aside_and_held_by_the_graph(void **state)
{
    (void)state;
    warm_up();
    fake_cuda_capture(5, 100, 1);
    void *a = take(100, 5);
    assert_string_equal(fake_cuda_asked(), "stream 40 flags 1\nalloc 100 from pool 1 in 40 relaxed\nsynchronize 40\n");
    assert_int_equal(fake_cuda_held_by(1), 1);
    give(a, 5);
    fake_cuda_end_capture(5);
    give(take(1, 9), 9);
    assert_int_equal(stats().allocated_bytes.current, 0);
    assert_int_equal(stats().held_bytes.current, 100); /* for launches to come */
    assert_int_equal(fake_cuda_bytes(device), 100);
    fake_cuda_asked();
    fake_cuda_destroy_graph(1);                 /* and all that were instantiated of it */
    assert_string_equal(fake_cuda_asked(), ""); /* CUDA is not to be called there */
    give(take(1, 9), 9);
    assert_string_equal(fake_cuda_asked(), "stream 41 flags 1\nfree 1 in 41\nalloc 1 from pool 1 in 9\nfree 1 in 9\n");
    assert_all_given_back();
}

static void it_stays_until_the_program_has_freed_it(void **state)
{
    (void)state;
    warm_up_captures();
    fake_cuda_capture(5, 100, 1);
    void *a = take(100, 5);
    fake_cuda_end_capture(5);
    fake_cuda_destroy_graph(1);
    give(take(1, 9), 9);
    assert_int_equal(stats().allocated_bytes.current, 100);
    fake_cuda_asked();
    give(a, 6); /* when the work in 6 is done, which the graph's streams have nothing to do with */
    assert_string_equal(fake_cuda_asked(), "record in 6\nwait in 41\nfree 1 in 41\n");
    assert_all_given_back();
}

static void what_is_freed_after_the_capture_waits_for_that_and_the_graph(void **state)
{
    (void)state;
    warm_up_captures();
    fake_cuda_capture(5, 100, 1);
    void *a = take(100, 5);
    fake_cuda_end_capture(5);
    fake_cuda_asked();
    gputrace_allocator_record_stream(a, fake_stream_of(7));
    give(a, 5);
    assert_string_equal(fake_cuda_asked(), "record in 5\nwait in 41\nrecord in 7\nwait in 41\n");
    assert_int_equal(stats().held_bytes.current, 100);
    fake_cuda_destroy_graph(1);
    gputrace_allocator_trim();
    assert_contains(fake_cuda_asked(), "free 1 in 41\ntrim pool 1 to 0\n");
    assert_all_given_back();
}

static void what_the_capture_frees_it_uses_again(void **state)
{
    (void)state;
    warm_up_captures();
    fake_cuda_capture(5, 100, 1);
    fake_cuda_capture(6, 100, 1);
    void *big = take(1000, 5), *small = take(100, 5);
    give(big, 5);
    give(small, 5);
    fake_cuda_asked();
    assert_ptr_equal(take(90, 5), small); /* the best of them */
    assert_string_equal(fake_cuda_asked(), "");
    assert_int_equal(fake_cuda_held_by(1), 2);
    void *c = take(90, 5), *other = take(900, 6); /* too little for the big one; another stream */
    assert_ptr_not_equal(c, big);
    assert_ptr_not_equal(other, big);
    assert_int_equal(stats().allocated_bytes.current, 90 + 90 + 900);
    assert_int_equal(stats().held_bytes.current, 1000 + 100 + 90 + 900);
    give(other, 5); /* not in its own stream: it is not used again */
    void *d = take(900, 6);
    assert_ptr_not_equal(d, other);
    assert_ptr_equal(take(600, 5), big);
    fake_cuda_end_capture(5);
    fake_cuda_end_capture(6);
    give(big, 5);
    give(small, 5);
    give(c, 5);
    give(d, 6);
    fake_cuda_destroy_graph(1);
    assert_all_given_back();
}

static void another_capture_does_not_use_it(void **state)
{
    (void)state;
    fake_cuda_capture(5, 100, 1);
    void *a = take(100, 5);
    give(a, 5);
    fake_cuda_end_capture(5);
    fake_cuda_capture(5, 101, 2);
    void *b = take(100, 5);
    assert_ptr_not_equal(a, b);
    give(b, 5);
    fake_cuda_end_capture(5);
    fake_cuda_destroy_graph(2);
    fake_cuda_destroy_graph(1);
    assert_all_given_back();
}

static void what_is_used_elsewhere_too_is_not_used_again(void **state)
{
    (void)state;
    fake_cuda_capture(5, 100, 1);
    fake_cuda_capture(6, 100, 1);
    void *a = take(100, 5);
    gputrace_allocator_record_stream(a, fake_stream_of(6));
    give(a, 5);
    void *b = take(100, 5);
    assert_ptr_not_equal(a, b);
    give(b, 5);
    fake_cuda_end_capture(5);
    fake_cuda_end_capture(6);
    fake_cuda_destroy_graph(1);
    assert_all_given_back();
}

static void what_was_there_before_is_freed_after_the_capture(void **state)
{
    (void)state;
    void *a = take(100, 5), *b = take(10, 6);
    gputrace_allocator_record_stream(b, fake_stream_of(5));
    fake_cuda_capture(5, 100, 1);
    fake_cuda_asked();
    give(a, 5);
    give(b, 6);
    give(take(1, 9), 9);
    assert_string_equal(fake_cuda_asked(), "alloc 1 from pool 1 in 9\nfree 3 in 9\n");
    assert_int_equal(stats().allocated_bytes.current, 0);
    assert_int_equal(stats().held_bytes.current, 110);
    fake_cuda_end_capture(5);
    give(take(1, 9), 9);
    const char *asked = fake_cuda_asked();
    assert_contains(asked, "free 1 in 5\n");
    assert_contains(asked, "record in 5\nwait in 6\nfree 2 in 6\n");
    assert_all_given_back();
}

static void memory_of_an_earlier_capture_that_is_freed_in_a_later_one(void **state)
{
    (void)state;
    fake_cuda_capture(5, 100, 1);
    void *a = take(100, 5);
    fake_cuda_end_capture(5);
    fake_cuda_capture(5, 101, 2);
    give(a, 5); /* work in 5 before that capture may still use it */
    fake_cuda_destroy_graph(1);
    give(take(1, 9), 9);
    assert_int_equal(fake_cuda_bytes(device), 100);
    fake_cuda_end_capture(5);
    assert_all_given_back();
}

static void a_broken_capture_gets_memory_that_no_graph_holds(void **state)
{
    (void)state;
    fake_cuda_break_capture(5);
    void *a = take(100, 5);
    give(a, 5);
    assert_int_equal(stats().held_bytes.current, 100);
    fake_cuda_end_capture(5);
    assert_all_given_back();
}

static void the_legacy_stream_does_not_break_a_capture_that_it_waits_for(void **state)
{
    (void)state;
    warm_up_captures();
    void *before = take(10, 0);
    fake_cuda_capture_implicit(true);
    fake_cuda_asked();
    void *a = take(100, 0);
    give(before, 0);
    const char *asked = fake_cuda_asked();
    assert_contains(asked, "relaxed\nsynchronize");
    assert_null(strstr(asked, "free"));
    fake_cuda_capture_implicit(false);
    give(a, 0);
    assert_all_given_back();
}

static void a_graph_that_cannot_hold_it_gets_none(void **state)
{
    (void)state;
    fake_cuda_capture(5, 100, 1);
    fake_cuda_says.retain_object = CUDA_ERROR_INVALID_VALUE;
    assert_null(gputrace_malloc(100, device, fake_stream_of(5)));
    assert_int_equal(stats().failures, 1);
    assert_int_equal(stats().allocated_bytes.current, 0);
    fake_cuda_end_capture(5);
    assert_all_given_back();
}

static void the_limit_holds_in_captures(void **state)
{
    (void)state;
    warm_up_captures();
    gputrace_allocator_set_fraction(0.5, device);
    fake_cuda_capture(5, 100, 1);
    void *a = take(FAKE_DEVICE_BYTES / 2, 5);
    assert_null(gputrace_malloc(1, device, fake_stream_of(5)));
    gputrace_allocator_set_fraction(1, device);
    fake_cuda_asked();
    assert_null(gputrace_malloc(FAKE_DEVICE_BYTES, device, fake_stream_of(5)));
    assert_null(strstr(fake_cuda_asked(), "synchronize 5")); /* it would break the capture */
    fake_cuda_end_capture(5);
    give(a, 5);
    fake_cuda_destroy_graph(1);
    assert_all_given_back();
}

/* --- private pools --- */

static const struct gputrace_pool_id pool = {7, 0}, second_pool = {0, 7};

static void allocations_between_begin_and_end_come_from_the_pool(void **state)
{
    (void)state;
    warm_up();
    gputrace_allocator_begin_pool(device, pool, NULL);
    assert_contains(fake_cuda_asked(), "pool 2\n");
    void *a = take(100, 5);
    gputrace_allocator_begin_pool(device, second_pool, NULL);
    gputrace_allocator_end_pool(device, second_pool);
    gputrace_allocator_end_pool(device, pool);
    void *b = take(10, 5);
    assert_string_equal(fake_cuda_asked(), "alloc 100 from pool 2 in 5\npool 3\nset 4 of pool 3 to ffffffffffffffff\n"
                                           "alloc 10 from pool 1 in 5\n");
    gputrace_allocator_release_pool(device, second_pool);
    assert_string_equal(fake_cuda_asked(), "destroy pool 3\n");
    gputrace_allocator_release_pool(device, pool); /* goes with its last block */
    assert_string_equal(fake_cuda_asked(), "");
    give(a, 5);
    assert_string_equal(fake_cuda_asked(), "free 1 in 5\ndestroy pool 2\n");
    give(b, 5);
    assert_all_given_back();
}

static void a_pool_is_released_as_often_as_it_was_begun(void **state)
{
    (void)state;
    warm_up();
    for (int i = 0; i < 2; i++) {
        gputrace_allocator_begin_pool(device, pool, NULL);
        gputrace_allocator_end_pool(device, pool);
    }
    gputrace_allocator_release_pool(device, pool);
    assert_int_equal(fake_cuda_pools(), 2);
    gputrace_allocator_release_pool(device, pool);
    assert_contains(fake_cuda_asked(), "destroy pool 2\n");
    gputrace_allocator_release_pool(device, pool);
    gputrace_allocator_end_pool(device, pool);
    gputrace_allocator_begin_pool(device, (struct gputrace_pool_id){0, 0}, NULL);
    assert_string_equal(fake_cuda_asked(), "");
}

static void *take_elsewhere(void *stream)
{
    return take(100, (unsigned)(uintptr_t)stream);
}

static void *on_another_thread(unsigned stream)
{
    pthread_t thread;
    void *pointer;
    assert_int_equal(pthread_create(&thread, NULL, take_elsewhere, (void *)(uintptr_t)stream), 0);
    pthread_join(thread, &pointer);
    return pointer;
}

static void other_threads_take_from_it_for_the_capture_alone(void **state)
{
    (void)state;
    warm_up_captures();
    gputrace_allocator_begin_pool(device, pool, NULL);
    fake_cuda_capture(5, 100, 1);
    fake_cuda_asked();
    void *a = on_another_thread(5), *b = on_another_thread(6), *c = take(100, 6);
    const char *asked = fake_cuda_asked();
    assert_contains(asked, "alloc 100 from pool 2 in 4");
    assert_contains(asked, "alloc 100 from pool 1 in 6\n");
    assert_contains(asked, "alloc 100 from pool 2 in 6\n");
    fake_cuda_capture(7, 101, 2); /* another capture, of somebody else's */
    void *d = on_another_thread(7);
    assert_contains(fake_cuda_asked(), "alloc 100 from pool 1 in 4");
    fake_cuda_end_capture(5);
    fake_cuda_end_capture(7);
    gputrace_allocator_end_pool(device, pool);
    gputrace_allocator_release_pool(device, pool);
    give(a, 5);
    give(b, 6);
    give(c, 6);
    give(d, 7);
    fake_cuda_destroy_graph(1);
    fake_cuda_destroy_graph(2);
    assert_all_given_back();
    assert_int_equal(fake_cuda_pools(), 1);
}

/* As PyTorch does with two graphs that share a pool. */
static void captures_of_one_pool_use_each_others_memory(void **state)
{
    (void)state;
    gputrace_allocator_begin_pool(device, pool, NULL);
    fake_cuda_capture(5, 100, 1);
    void *a = take(100, 5), *output = take(50, 5);
    give(a, 5);
    fake_cuda_end_capture(5);
    gputrace_allocator_end_pool(device, pool);
    give(output, 5); /* by now, eagerly */

    gputrace_allocator_begin_pool(device, pool, NULL);
    fake_cuda_capture(5, 101, 2);
    assert_ptr_equal(take(100, 5), a);
    assert_ptr_equal(take(50, 5), output);
    assert_int_equal(fake_cuda_held_by(2), 2);
    fake_cuda_end_capture(5);
    gputrace_allocator_end_pool(device, pool);
    gputrace_allocator_release_pool(device, pool);
    fake_cuda_destroy_graph(1);
    give(take(1, 9), 9);
    assert_int_equal(fake_cuda_bytes(device), 150);
    gputrace_allocator_release_pool(device, pool);
    fake_cuda_destroy_graph(2);
    give(take(1, 9), 9);
    assert_int_equal(fake_cuda_bytes(device), 150); /* the program has them */
    give(a, 5);
    give(output, 5);
    assert_all_given_back();
    assert_int_equal(fake_cuda_pools(), 1);
}

static void without_a_private_pool_memory_is_the_common_one_s(void **state)
{
    (void)state;
    warm_up();
    fake_cuda_says.create_pool = CUDA_ERROR_OUT_OF_MEMORY;
    unit_stderr_begin();
    gputrace_allocator_begin_pool(device, pool, NULL);
    assert_contains(unit_stderr_end(), "no private pool");
    give(take(100, 5), 5);
    assert_string_equal(fake_cuda_asked(), "alloc 100 from pool 1 in 5\nfree 1 in 5\n");
    gputrace_allocator_end_pool(device, pool);
    gputrace_allocator_release_pool(device, pool);
}

#define TEST(name) cmocka_unit_test_setup(name, start)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_taken_aside_and_held_by_the_graph),
        TEST(it_stays_until_the_program_has_freed_it),
        TEST(what_is_freed_after_the_capture_waits_for_that_and_the_graph),
        TEST(what_the_capture_frees_it_uses_again),
        TEST(another_capture_does_not_use_it),
        TEST(what_is_used_elsewhere_too_is_not_used_again),
        TEST(what_was_there_before_is_freed_after_the_capture),
        TEST(memory_of_an_earlier_capture_that_is_freed_in_a_later_one),
        TEST(a_broken_capture_gets_memory_that_no_graph_holds),
        TEST(the_legacy_stream_does_not_break_a_capture_that_it_waits_for),
        TEST(a_graph_that_cannot_hold_it_gets_none),
        TEST(the_limit_holds_in_captures),
        TEST(allocations_between_begin_and_end_come_from_the_pool),
        TEST(a_pool_is_released_as_often_as_it_was_begun),
        TEST(other_threads_take_from_it_for_the_capture_alone),
        TEST(captures_of_one_pool_use_each_others_memory),
        TEST(without_a_private_pool_memory_is_the_common_one_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
